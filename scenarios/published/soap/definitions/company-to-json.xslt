<?xml version="1.0" encoding="utf-8"?>
<!-- Converts a company from XML to JSON. -->
<xsl:stylesheet version="3.0" xmlns:xsl="http://www.w3.org/1999/XSL/Transform"
    xmlns:j="http://www.w3.org/2005/xpath-functions" exclude-result-prefixes="j">
  <xsl:output method="text" encoding="utf-8"/>
  <xsl:template match="/">
    <xsl:variable name="company">
      <j:map><xsl:apply-templates select="root/*"/></j:map>
    </xsl:variable>
    <xsl:value-of select="xml-to-json($company)"/>
  </xsl:template>
  <xsl:template match="*">
    <j:string key="{name()}"><xsl:value-of select="."/></j:string>
  </xsl:template>
  <xsl:template match="offices">
    <j:array key="offices">
      <xsl:for-each select="site"><j:string><xsl:value-of select="."/></j:string></xsl:for-each>
    </j:array>
  </xsl:template>
  <xsl:template match="products">
    <j:array key="products">
      <xsl:for-each select="product">
        <j:map><j:string key="name"><xsl:value-of select="@name"/></j:string><xsl:apply-templates/></j:map>
      </xsl:for-each>
    </j:array>
  </xsl:template>
  <xsl:template match="saas">
    <j:boolean key="saas"><xsl:value-of select="."/></j:boolean>
  </xsl:template>
  <xsl:template match="text()[not(normalize-space())]"/>
</xsl:stylesheet>
