// SPDX-License-Identifier: Apache-2.0
// Calls that take no memory that anybody pages and give the GPU no work, by their whole names: what only begins like
// one of them may be a draw. Left out of the names are the types of their arguments and the ending of the maker.
#include <string.h>

#include "tools/import/gl_state.h"

#define LONGEST_NAME 64

// What asks changes nothing, whatever it asks for.
static const char *const questions[] = {"glGet",  "glIs",     "glXGet", "glXIs", "glXQuery",
                                        "eglGet", "eglQuery", "wglGet", "CGL"};

static const char *const idle[] = {
    " eglChooseConfig eglClientWaitSync eglCreatePlatformWindowSurface eglCreateSync eglCreateSync64 ",
    " eglCreateWindowSurface eglDestroySurface eglDestroySync eglInitialize eglReleaseThread eglSurfaceAttrib ",
    " eglSwapInterval eglTerminate eglWaitClient eglWaitGL eglWaitNative eglWaitSync glAccum glAlphaFunc ",
    " glAreTexturesResident glArrayElement glAttachObject glAttachShader glBegin glBeginConditionalRender ",
    " glBeginFragmentShader glBeginOcclusionQuery glBeginQuery glBeginQueryIndexed glBeginTransformFeedback ",
    " glBeginVertexShader glBindAttribLocation glBindFragDataLocation glBindFragDataLocationIndexed glBindSampler ",
    " glBindSamplers glBindTransformFeedback glBitmap glBlendBarrier glBlendColor glBlendEquation ",
    " glBlendEquationSeparate glBlendEquationSeparatei glBlendEquationi glBlendFunc glBlendFuncSeparate ",
    " glBlendFuncSeparatei glBlendFunci glBlendParameteri glCheckFramebufferStatus glCheckNamedFramebufferStatus ",
    " glClampColor glClearAccum glClearColor glClearColorIi glClearColorIui glClearDepth glClearIndex glClearStencil ",
    " glClientAttribDefault glClientWaitSync glClipControl glClipPlane glColor glColorFormat glColorFragmentOp ",
    " glColorMask glColorMaskIndexed glColorMaski glColorMaterial glColorP glColorSubTable glColorTable ",
    " glColorTableParameterfv glColorTableParameteriv glCompileShader glCompileShaderInclude glCreateFramebuffers ",
    " glCreateProgram glCreateProgramObject glCreateProgramPipelines glCreateQueries glCreateSamplers glCreateShader ",
    " glCreateShaderObject glCreateShaderProgram glCreateShaderProgramv glCreateTransformFeedbacks ",
    " glCreateVertexArrays glCullFace glCullParameterdv glCullParameterfv glDebugMessageCallback ",
    " glDebugMessageControl glDebugMessageInsert glDeleteFences glDeleteLists glDeleteObject glDeleteProgram ",
    " glDeleteProgramPipelines glDeletePrograms glDeleteQueries glDeleteSamplers glDeleteShader glDeleteSync ",
    " glDeleteTransformFeedbacks glDepthBounds glDepthFunc glDepthMask glDepthRange glDepthRangeArray ",
    " glDepthRangeIndexed glDetachObject glDetachShader glDisableClientStateIndexed glDisableClientStatei ",
    " glDisableIndexed glDisableVariantClientState glDisableVertexAttrib glDisablei glDiscardFramebuffer ",
    " glDrawBuffer glDrawBuffers glDrawBuffersIndexed glEdgeFlag glEdgeFlagFormat glEnableClientStateIndexed ",
    " glEnableClientStatei glEnableIndexed glEnableVariantClientState glEnableVertexAttrib glEnablei ",
    " glEndConditionalRender glEndQuery glEndQueryIndexed glEndTransformFeedback glEvalCoord glEvalPoint1 ",
    " glEvalPoint2 glFeedbackBuffer glFenceSync glFinish glFinishFence glFinishObject glFlush ",
    " glFlushMappedBufferRange glFlushMappedNamedBufferRange glFlushPixelDataRange glFlushVertexArrayRange glFog ",
    " glFogCoord glFogCoordFormat glFramebufferParameteri glFrontFace glFrustum glGenFramebuffers glGenLists ",
    " glGenProgramPipelines glGenPrograms glGenQueries glGenSamplers glGenTransformFeedbacks glGenVertexArrays ",
    " glHint glIndex glIndexFormat glIndexFunc glIndexMask glIndexMaterial glInitNames glInsertEventMarker ",
    " glInvalidateBufferData glInvalidateBufferSubData glInvalidateFramebuffer glInvalidateNamedFramebufferData ",
    " glInvalidateNamedFramebufferSubData glInvalidateSubFramebuffer glInvalidateTexImage glInvalidateTexSubImage ",
    " glLight glLightModel glLineStipple glLineWidth glLinkProgram glListBase glLoadIdentity glLoadMatrix glLoadName ",
    " glLoadProgram glLoadTransposeMatrix glLogicOp glMap glMapGrid glMaterial glMatrixFrustum glMatrixIndex ",
    " glMatrixIndexPointer glMatrixLoad glMatrixLoadIdentity glMatrixLoadTranspose glMatrixMode glMatrixMult ",
    " glMatrixMultTranspose glMatrixOrtho glMatrixPop glMatrixPush glMatrixRotate glMatrixScale glMatrixTranslate ",
    " glMaxShaderCompilerThreads glMemoryBarrier glMemoryBarrierByRegion glMinSampleShading glMultMatrix ",
    " glMultTransposeMatrix glMultiTexCoord glMultiTexCoordP glNamedFramebufferDrawBuffer ",
    " glNamedFramebufferDrawBuffers glNamedFramebufferParameteri glNamedFramebufferReadBuffer glNormal ",
    " glNormalFormat glNormalP glObjectLabel glObjectPtrLabel glOrtho glPassThrough glPatchParameterfv ",
    " glPatchParameteri glPauseTransformFeedback glPixelDataRange glPixelMap glPixelStore glPixelTransfer ",
    " glPixelTransformParameter glPixelZoom glPointParameter glPointSize glPointSizePointer glPolygonMode ",
    " glPolygonOffset glPolygonOffsetClamp glPolygonStipple glPopDebugGroup glPopGroupMarker glPopMatrix glPopName ",
    " glPrimitiveBoundingBox glPrimitiveRestart glPrimitiveRestartIndex glPrioritizeTextures glProgramBinary ",
    " glProgramBufferParametersIiv glProgramBufferParametersIuiv glProgramBufferParametersfv glProgramEnvParameter ",
    " glProgramEnvParameterI glProgramEnvParameters4fv glProgramEnvParametersI4iv glProgramEnvParametersI4uiv ",
    " glProgramLocalParameter glProgramLocalParameterI glProgramLocalParameters4fv glProgramLocalParametersI4iv ",
    " glProgramLocalParametersI4uiv glProgramNamedParameter glProgramParameter glProgramParameters4dv ",
    " glProgramParameters4fv glProgramPathFragmentInputGen glProgramString glProgramSubroutineParametersuiv ",
    " glProgramUniform glProgramUniformHandleui64 glProgramUniformHandleui64v glProgramUniformMatrix ",
    " glProgramVertexLimit glProvokingVertex glPushDebugGroup glPushGroupMarker glPushMatrix glPushName ",
    " glQueryCounter glQueryMatrix glRasterPos glReadBuffer glReadBufferIndexed glReleaseShaderCompiler glRenderMode ",
    " glResumeTransformFeedback glRotate glSampleCoverage glSampleMask glSampleMaskIndexed glSampleMaski ",
    " glSamplerParameter glSamplerParameterIiv glSamplerParameterIuiv glScale glScissor glScissorArrayv ",
    " glScissorExclusive glScissorExclusiveArrayv glScissorIndexed glScissorIndexedv glSecondaryColor ",
    " glSecondaryColorFormat glSecondaryColorP glSelectBuffer glShadeModel glShaderBinary glShaderSource ",
    " glSpecializeShader glStencilFunc glStencilFuncSeparate glStencilMask glStencilMaskSeparate glStencilOp ",
    " glStencilOpSeparate glStringMarker glTexCoord glTexCoordFormat glTexCoordP glTexEnv glTexGen glTexParameter ",
    " glTextureBarrier glTextureParameter glTransformFeedbackBufferBase glTransformFeedbackBufferRange ",
    " glTransformFeedbackVaryings glTranslate glUniform glUniformBlockBinding glUniformBuffer glUniformHandleui64 ",
    " glUniformHandleui64v glUniformMatrix glUniformSubroutinesuiv glValidateProgram glValidateProgramPipeline ",
    " glVertex glVertexArrayAttribFormat glVertexArrayAttribIFormat glVertexArrayAttribLFormat ",
    " glVertexArrayBindingDivisor glVertexArrayVertexBindingDivisor glVertexAttrib glVertexAttrib4N ",
    " glVertexAttribDivisor glVertexAttribFormat glVertexAttribI glVertexAttribIFormat glVertexAttribL ",
    " glVertexAttribLFormat glVertexAttribP glVertexAttribs glVertexBindingDivisor glVertexBlend glVertexBlendEnvf ",
    " glVertexBlendEnvi glVertexFormat glVertexP glVertexWeight glVertexWeightPointer glViewport glViewportArrayv ",
    " glViewportIndexedf glViewportIndexedfv glViewportPositionWScale glViewportSwizzle glWaitSync glWindowPos ",
    " glXChooseFBConfig glXChooseVisual glXCopyContext glXCreateGLXPixmap glXCreatePixmap glXCreateWindow ",
    " glXDestroyGLXPixmap glXDestroyPbuffer glXDestroyPixmap glXDestroyWindow glXSelectEvent glXSwapInterval ",
    " glXUseXFont glXWaitGL glXWaitX wglChoosePixelFormat wglDescribePixelFormat wglSetPixelFormat wglSwapInterval ",
};

static bool listed(const char *name, size_t length)
{
    char padded[LONGEST_NAME + 3] = " ";
    memcpy(padded + 1, name, length);
    memcpy(padded + 1 + length, " ", 2);
    for (size_t i = 0; i < sizeof idle / sizeof *idle; i++) {
        if (strstr(idle[i], padded))
            return true;
    }
    return false;
}

static size_t without(const char *name, size_t length, const char *const *endings, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        size_t tail = strlen(endings[i]);
        if (length > tail && memcmp(name + length - tail, endings[i], tail) == 0)
            return length - tail;
    }
    return length;
}

// Each ending is cut only where the name with it is none: glDrawBuffers has no type, glVertex3fv has three.
bool ferry_gl_idle(const char *name)
{
    static const char *const makers[] = {"ARB", "EXT",  "OES",  "ATI",     "ANGLE", "APPLE",
                                         "NV",  "SGIS", "MESA", "GREMEDY", "KHR",   "AMD"};
    static const char *const vector[] = {"v"};
    static const char *const types[] = {"ui64", "i64", "ub", "us", "ui", "b", "s", "i", "f", "d", "x", "h"};
    static const char *const sizes[] = {"2x3", "2x4", "3x2", "3x4", "4x2", "4x3", "1", "2", "3", "4"};
    static const struct {
        const char *const *endings;
        size_t count;
    } cuts[] = {{makers, sizeof makers / sizeof *makers},
                {vector, 1},
                {types, sizeof types / sizeof *types},
                {sizes, sizeof sizes / sizeof *sizes}};
    size_t length = strlen(name);
    for (size_t i = 0; i < sizeof questions / sizeof *questions; i++) {
        if (strncmp(name, questions[i], strlen(questions[i])) == 0)
            return true;
    }
    if (length > LONGEST_NAME)
        return false;
    bool is = listed(name, length);
    for (size_t i = 0; i < sizeof cuts / sizeof *cuts && !is; i++) {
        length = without(name, length, cuts[i].endings, cuts[i].count);
        is = listed(name, length);
    }
    return is;
}
