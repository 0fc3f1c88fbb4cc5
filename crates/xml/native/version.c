/* The versions of the loaded libraries. They may differ from those of the headers with which the
   shim was compiled. */
#include "shim.h"

#include <libxslt/xslt.h>

const char *shim_libxml2_version(void) {
    return xmlParserVersion;
}

const char *shim_libxslt_version(void) {
    return xsltEngineVersion;
}
