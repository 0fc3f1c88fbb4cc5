<?xml version="1.0" encoding="utf-8"?>
<!-- Removes the envelope. -->
<xsl:stylesheet version="1.0" xmlns:xsl="http://www.w3.org/1999/XSL/Transform"
    xmlns:c="http://tempuri.org/" xmlns:soap="http://schemas.xmlsoap.org/soap/envelope/" exclude-result-prefixes="c soap">
  <xsl:output method="xml" encoding="utf-8" omit-xml-declaration="no"/>
  <xsl:strip-space elements="*"/>
  <xsl:template match="/">
    <xsl:apply-templates select="soap:Envelope/soap:Body/*"/>
  </xsl:template>
  <xsl:template match="*">
    <xsl:element name="{local-name()}" namespace="{namespace-uri()}"><xsl:apply-templates/></xsl:element>
  </xsl:template>
</xsl:stylesheet>
