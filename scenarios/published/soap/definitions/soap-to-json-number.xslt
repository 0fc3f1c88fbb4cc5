<?xml version="1.0" encoding="utf-8"?>
<!-- Converts the response for an addition into its result as JSON, under the name of the route. -->
<xsl:stylesheet version="3.0" xmlns:xsl="http://www.w3.org/1999/XSL/Transform"
    xmlns:j="http://www.w3.org/2005/xpath-functions" exclude-result-prefixes="j c"
    xmlns:c="http://tempuri.org/">
  <xsl:output method="text" encoding="utf-8"/>
  <xsl:param name="number"/>
  <xsl:template match="/">
    <xsl:variable name="result">
      <j:map>
        <j:number key="team-{$number}"><xsl:value-of select="//c:AddResult"/></j:number>
      </j:map>
    </xsl:variable>
    <xsl:value-of select="xml-to-json($result)"/>
  </xsl:template>
</xsl:stylesheet>
