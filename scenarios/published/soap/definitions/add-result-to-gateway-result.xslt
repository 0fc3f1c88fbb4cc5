<?xml version="1.0" encoding="utf-8"?>
<!-- Renames the sum. -->
<xsl:stylesheet version="1.0" xmlns:xsl="http://www.w3.org/1999/XSL/Transform"
    xmlns:c="http://tempuri.org/" xmlns:soap="http://schemas.xmlsoap.org/soap/envelope/" exclude-result-prefixes="c">
  <xsl:output method="xml" encoding="utf-8" omit-xml-declaration="no"/>
  <xsl:strip-space elements="*"/>
  <xsl:template match="node()|@*">
    <xsl:copy><xsl:apply-templates select="node()|@*"/></xsl:copy>
  </xsl:template>
  <xsl:template match="c:AddResult">
    <GatewayResult xmlns="http://tempuri.org/"><xsl:apply-templates select="node()|@*"/></GatewayResult>
  </xsl:template>
</xsl:stylesheet>
