<?xml version="1.0" encoding="utf-8"?>
<!-- Removes the envelope; the sum gets the number of the route as an attribute. -->
<xsl:stylesheet version="1.0" xmlns:xsl="http://www.w3.org/1999/XSL/Transform"
    xmlns:c="http://tempuri.org/" xmlns:soap="http://schemas.xmlsoap.org/soap/envelope/" exclude-result-prefixes="c soap">
  <xsl:output method="xml" encoding="utf-8" omit-xml-declaration="no"/>
  <xsl:param name="number"/>
  <xsl:strip-space elements="*"/>
  <xsl:template match="/">
    <xsl:apply-templates select="soap:Envelope/soap:Body/*"/>
  </xsl:template>
  <xsl:template match="*">
    <xsl:element name="{local-name()}" namespace="{namespace-uri()}"><xsl:apply-templates/></xsl:element>
  </xsl:template>
  <xsl:template match="c:GatewayResult">
    <GatewayResult xmlns="http://tempuri.org/" team="{$number}"><xsl:apply-templates/></GatewayResult>
  </xsl:template>
</xsl:stylesheet>
