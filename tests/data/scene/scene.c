// SPDX-License-Identifier: Apache-2.0
// The program whose dump is scene.txt.gz: a camera passes 40 textures, 12 in view, with everything that an importer has
// to understand on the way. Nothing builds it; recorded on Debian 12 (Mesa's llvmpipe, apitrace 11.1) with
//
//     gcc scene.c -o scene -lGL -lX11
//     xvfb-run -s '-screen 0 320x240x24' apitrace trace -o scene.trace ./scene
//     apitrace dump scene.trace | gzip -9n > scene.txt.gz
#define GL_GLEXT_PROTOTYPES
#include <GL/gl.h>
#include <GL/glext.h>
#include <GL/glx.h>
#include <X11/Xlib.h>
#include <stdlib.h>
#include <string.h>

#define FRAMES   90
#define PICTURES 40
#define IN_VIEW  12

static unsigned char texels[512 * 512 * 4];

static GLuint compile(GLenum type, const char *text)
{
    GLuint shader = glCreateShader(type);
    glShaderSource(shader, 1, &text, NULL);
    glCompileShader(shader);
    return shader;
}

static GLuint link(void)
{
    GLuint program = glCreateProgram();
    glAttachShader(program, compile(GL_VERTEX_SHADER, "#version 330\n"
                                                      "layout(location = 0) in vec2 at;\n"
                                                      "out vec2 place; // \"0 to 1\"\n"
                                                      "void main() { place = at; gl_Position = vec4(at, 0, 1); }\n"));
    glAttachShader(program, compile(GL_FRAGMENT_SHADER, "#version 330\n"
                                                        "uniform sampler2D picture;\n"
                                                        "in vec2 place;\n"
                                                        "out vec4 colour;\n"
                                                        "void main() { colour = texture(picture, place); }\n"));
    glLinkProgram(program);
    return program;
}

static void make_window(void)
{
    static int wanted[] = {GLX_RGBA, GLX_DOUBLEBUFFER, GLX_DEPTH_SIZE, 16, None};
    Display *display = XOpenDisplay(NULL);
    XVisualInfo *visual = glXChooseVisual(display, DefaultScreen(display), wanted);
    XSetWindowAttributes attributes = {0};
    attributes.colormap = XCreateColormap(display, DefaultRootWindow(display), visual->visual, AllocNone);
    Window window = XCreateWindow(display, DefaultRootWindow(display), 0, 0, 160, 120, 0, visual->depth, InputOutput,
                                  visual->visual, CWColormap, &attributes);
    XMapWindow(display, window);
    GLXContext context = glXCreateContext(display, visual, NULL, True);
    glXMakeCurrent(display, window, context);
}

static GLuint picture(int side)
{
    GLuint name;
    glGenTextures(1, &name);
    glBindTexture(GL_TEXTURE_2D, name);
    glTexImage2D(GL_TEXTURE_2D, 0, GL_RGBA8, side, side, 0, GL_RGBA, GL_UNSIGNED_BYTE, texels);
    glGenerateMipmap(GL_TEXTURE_2D);
    return name;
}

int main(void)
{
    GLuint pictures[PICTURES], array, buffers[4], textures[4], frame, depth;
    make_window();
    Display *display = glXGetCurrentDisplay();
    GLXDrawable window = glXGetCurrentDrawable();
    GLuint program = link();
    glUseProgram(program);
    for (int i = 0; i < PICTURES; i++)
        pictures[i] = picture(i % 5 == 0 ? 512 : 256);

    // Vertices, indices, a stream of vertices, what textures are filled from.
    glGenVertexArrays(1, &array);
    glBindVertexArray(array);
    glGenBuffers(4, buffers);
    glBindBuffer(GL_ARRAY_BUFFER, buffers[0]);
    glBufferData(GL_ARRAY_BUFFER, 30000, texels, GL_STATIC_DRAW);
    glVertexAttribPointer(0, 2, GL_FLOAT, GL_FALSE, 8, NULL);
    glEnableVertexAttribArray(0);
    glBindBuffer(GL_ELEMENT_ARRAY_BUFFER, buffers[1]);
    glBufferData(GL_ELEMENT_ARRAY_BUFFER, 1200, texels, GL_STATIC_DRAW);
    glBindBuffer(GL_ARRAY_BUFFER, buffers[2]);
    glBufferData(GL_ARRAY_BUFFER, 65536, NULL, GL_STREAM_DRAW);
    glBindBuffer(GL_PIXEL_UNPACK_BUFFER, buffers[3]);
    glBufferData(GL_PIXEL_UNPACK_BUFFER, 128 * 128 * 4, texels, GL_STREAM_DRAW);

    // From a buffer; all levels at once; compressed; six sides.
    glGenTextures(4, textures);
    glBindTexture(GL_TEXTURE_2D, textures[0]);
    glTexImage2D(GL_TEXTURE_2D, 0, GL_RGBA8, 128, 128, 0, GL_RGBA, GL_UNSIGNED_BYTE, NULL);
    glBindBuffer(GL_PIXEL_UNPACK_BUFFER, 0);
    glBindTexture(GL_TEXTURE_2D, textures[1]);
    glTexStorage2D(GL_TEXTURE_2D, 8, GL_R8, 128, 64);
    glTexSubImage2D(GL_TEXTURE_2D, 0, 0, 0, 128, 64, GL_RED, GL_UNSIGNED_BYTE, texels);
    glBindTexture(GL_TEXTURE_2D, textures[2]);
    glCompressedTexImage2D(GL_TEXTURE_2D, 0, GL_COMPRESSED_RGBA_S3TC_DXT5_EXT, 100, 50, 0, 25 * 13 * 16, texels);
    glBindTexture(GL_TEXTURE_CUBE_MAP, textures[3]);
    for (int i = 0; i < 6; i++)
        glTexImage2D(GL_TEXTURE_CUBE_MAP_POSITIVE_X + i, 0, GL_RGB8, 64, 64, 0, GL_RGB, GL_UNSIGNED_BYTE, texels);

    // What is drawn into and read.
    glGenFramebuffers(1, &frame);
    glBindFramebuffer(GL_FRAMEBUFFER, frame);
    GLuint colour;
    glGenTextures(1, &colour);
    glBindTexture(GL_TEXTURE_2D, colour);
    glTexImage2D(GL_TEXTURE_2D, 0, GL_RGBA16F, 160, 120, 0, GL_RGBA, GL_FLOAT, NULL);
    glFramebufferTexture2D(GL_FRAMEBUFFER, GL_COLOR_ATTACHMENT0, GL_TEXTURE_2D, colour, 0);
    glGenRenderbuffers(1, &depth);
    glBindRenderbuffer(GL_RENDERBUFFER, depth);
    glRenderbufferStorage(GL_RENDERBUFFER, GL_DEPTH_COMPONENT24, 160, 120);
    glFramebufferRenderbuffer(GL_FRAMEBUFFER, GL_DEPTH_ATTACHMENT, GL_RENDERBUFFER, depth);

    for (int i = 0; i < FRAMES; i++) {
        glBindFramebuffer(GL_FRAMEBUFFER, frame);
        glClear(GL_COLOR_BUFFER_BIT | GL_DEPTH_BUFFER_BIT);
        for (int k = 0; k < IN_VIEW; k++) {
            glBindTexture(GL_TEXTURE_2D, pictures[(i / 3 + k) % PICTURES]);
            glDrawElements(GL_TRIANGLES, 6, GL_UNSIGNED_SHORT, NULL);
        }
        // A stream of vertices: the old ones are given up every other frame.
        glBindBuffer(GL_ARRAY_BUFFER, buffers[2]);
        if (i % 2)
            glBufferData(GL_ARRAY_BUFFER, 65536, NULL, GL_STREAM_DRAW);
        void *place = glMapBufferRange(GL_ARRAY_BUFFER, 256 * (i % 100), 4096,
                                       GL_MAP_WRITE_BIT | GL_MAP_UNSYNCHRONIZED_BIT | GL_MAP_INVALIDATE_RANGE_BIT);
        memset(place, i, 4096);
        glUnmapBuffer(GL_ARRAY_BUFFER);
        glBindTexture(GL_TEXTURE_2D, textures[1]);
        glTexSubImage2D(GL_TEXTURE_2D, 0, 0, i % 64, 128, 1, GL_RED, GL_UNSIGNED_BYTE, texels);
        glBindTexture(GL_TEXTURE_2D, textures[i % 2 ? 2 : 0]);
        glDrawElements(GL_TRIANGLES, 6, GL_UNSIGNED_SHORT, NULL);
        // Every tenth frame one picture is loaded anew.
        if (i % 10 == 9) {
            glDeleteTextures(1, &pictures[i % PICTURES]);
            pictures[i % PICTURES] = picture(256);
        }
        glBindFramebuffer(GL_FRAMEBUFFER, 0);
        glBindTexture(GL_TEXTURE_2D, colour);
        glDrawArrays(GL_TRIANGLES, 0, 3);
        glXSwapBuffers(display, window);
    }
    unsigned char pixel[4];
    glReadPixels(0, 0, 1, 1, GL_RGBA, GL_UNSIGNED_BYTE, pixel);
    glDeleteTextures(PICTURES, pictures);
    glXMakeCurrent(display, None, NULL);
    XCloseDisplay(display);
    return 0;
}
