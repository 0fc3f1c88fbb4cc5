<?xml version="1.0" encoding="utf-8"?>
<!-- Makes an HTML table from the upstream's XML. -->
<xsl:stylesheet version="1.0" xmlns:xsl="http://www.w3.org/1999/XSL/Transform">
  <xsl:output method="html" media-type="text/html" encoding="UTF-8" indent="no"/>
  <xsl:strip-space elements="*"/>
  <xsl:param name="caption"/>
  <xsl:template match="/bench">
    <table>
      <caption><xsl:value-of select="$caption"/></caption>
      <xsl:for-each select="item">
        <xsl:sort select="count" data-type="number" order="descending"/>
        <tr id="{@id}"><td><xsl:value-of select="name"/></td><td><xsl:value-of select="count"/></td></tr>
      </xsl:for-each>
      <tr><td>all</td><td><xsl:value-of select="sum(item/count)"/></td></tr>
    </table>
  </xsl:template>
</xsl:stylesheet>
