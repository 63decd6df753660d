// SPDX-License-Identifier: Apache-2.0
// The back end `model`: a ferry_link straight onto the reference model, without TLPs between.
#ifndef FERRY_MODEL_MODEL_LINK_H
#define FERRY_MODEL_MODEL_LINK_H

#include "link/link.h"
#include "model/model.h"

/// What ferry_backend_model opens with: the host's address space sets the bounds, not a board.
#define FERRY_MODEL_LINK_LOCAL_BYTES    (64ull << 30)
#define FERRY_MODEL_LINK_APERTURE_PAGES 65536u
#define FERRY_MODEL_LINK_DEFER_CYCLES   2000u

/// Open a link to a model with these options; config may be NULL, its seed scatters the bus addresses. The caller
/// closes the link through its operations. Errors: NO_HOST_MEMORY.
int ferry_model_link_open(const struct ferry_model_options *options, const struct ferry_link_config *config,
                          struct ferry_link **link);
/// The model behind a link of this back end, which stays the link's.
struct ferry_model *ferry_model_link_model(struct ferry_link *link);

#endif
