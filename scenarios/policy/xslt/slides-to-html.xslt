<?xml version="1.0" encoding="utf-8"?>
<!-- Makes a list of the slides in the upstream's XML. -->
<xsl:stylesheet version="1.0" xmlns:xsl="http://www.w3.org/1999/XSL/Transform">
  <xsl:output method="html" media-type="text/html" encoding="UTF-8" indent="no"/>
  <xsl:template match="/slideshow">
    <ul>
      <xsl:for-each select="slide">
        <li><xsl:value-of select="title"/></li>
      </xsl:for-each>
    </ul>
  </xsl:template>
</xsl:stylesheet>
