/* Returns the versions of the loaded libraries, which may differ from those of the headers that the
 * shim was compiled with. */
#include "shim.h"

#include <libxslt/xslt.h>

const char *shim_libxml2_version(void) {
    return xmlParserVersion;
}

const char *shim_libxslt_version(void) {
    return xsltEngineVersion;
}
