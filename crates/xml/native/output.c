/* Writes results piece by piece, in the form that their stylesheets declare. */
#include "shim.h"

#include <libxml/xmlsave.h>
#include <libxslt/imports.h>
#include <libxslt/xsltutils.h>

/* Reads the settings of xsl:output, including those of imported stylesheets. The texts live as long
 * as the stylesheet. */
void shim_style_output(xsltStylesheetPtr style, shim_output *output) {
    const xmlChar *method, *version, *encoding, *media_type;
    int omit, standalone, indent;
    XSLT_GET_IMPORT_PTR(method, style, method)
    XSLT_GET_IMPORT_PTR(version, style, version)
    XSLT_GET_IMPORT_PTR(encoding, style, encoding)
    XSLT_GET_IMPORT_PTR(media_type, style, mediaType)
    XSLT_GET_IMPORT_INT(omit, style, omitXmlDeclaration)
    XSLT_GET_IMPORT_INT(standalone, style, standalone)
    XSLT_GET_IMPORT_INT(indent, style, indent)
    output->text_or_html = xmlStrEqual(method, (const xmlChar *)"text") ||
                           xmlStrEqual(method, (const xmlChar *)"html");
    output->omit_declaration = omit == 1;
    output->standalone = standalone == 1;
    output->indent = indent == 1;
    output->version = (const char *)version;
    output->encoding = (const char *)encoding;
    output->media_type = (const char *)media_type;
}

/* Returns 0 on failure. */
int shim_save_result(xmlDocPtr result, xsltStylesheetPtr style, shim_write write, void *data) {
    xmlOutputBufferPtr out = xmlOutputBufferCreateIO(write, NULL, data, NULL);
    int written;
    if (out == NULL)
        return 0;
    written = xsltSaveResultTo(out, result, style);
    return xmlOutputBufferClose(out) >= 0 && written >= 0;
}
