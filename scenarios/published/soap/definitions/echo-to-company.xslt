<?xml version="1.0" encoding="utf-8"?>
<!-- Converts the company in httpbin's response back to XML. -->
<xsl:stylesheet version="3.0" xmlns:xsl="http://www.w3.org/1999/XSL/Transform"
    xmlns:j="http://www.w3.org/2005/xpath-functions" exclude-result-prefixes="j">
  <xsl:output method="xml" encoding="utf-8" indent="no"/>
  <xsl:template match="/">
    <root><xsl:apply-templates select="json-to-xml(.)/j:map/j:map[@key = 'json']/*"/></root>
  </xsl:template>
  <xsl:template match="j:string | j:boolean">
    <xsl:element name="{@key}"><xsl:value-of select="."/></xsl:element>
  </xsl:template>
  <xsl:template match="j:array[@key = 'offices']">
    <offices>
      <xsl:for-each select="*"><site><xsl:value-of select="."/></site></xsl:for-each>
    </offices>
  </xsl:template>
  <xsl:template match="j:array[@key = 'products']">
    <products>
      <xsl:for-each select="*">
        <product name="{j:string[@key = 'name']}"><xsl:apply-templates select="*[@key != 'name']"/></product>
      </xsl:for-each>
    </products>
  </xsl:template>
</xsl:stylesheet>
