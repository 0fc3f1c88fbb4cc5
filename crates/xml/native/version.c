/* Which libraries are loaded: they may be others than those whose headers the shim was compiled against. */
#include "shim.h"

#include <libxslt/xslt.h>

const char *shim_libxml2_version(void) {
    return xmlParserVersion;
}

const char *shim_libxslt_version(void) {
    return xsltEngineVersion;
}
