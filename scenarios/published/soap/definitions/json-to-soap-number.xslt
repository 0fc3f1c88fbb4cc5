<?xml version="1.0" encoding="utf-8"?>
<!-- Converts {"operation": "Add", ...} to a SOAP request with the operands 0 and the number of the route. -->
<xsl:stylesheet version="3.0" xmlns:xsl="http://www.w3.org/1999/XSL/Transform"
    xmlns:j="http://www.w3.org/2005/xpath-functions" exclude-result-prefixes="j"
    xmlns:soap="http://schemas.xmlsoap.org/soap/envelope/">
  <xsl:output method="xml" encoding="utf-8"/>
  <xsl:param name="number"/>
  <xsl:template match="/">
    <xsl:variable name="call" select="json-to-xml(.)/j:map"/>
    <soap:Envelope>
      <soap:Body>
        <xsl:element name="{$call/j:string[@key='operation']}" namespace="http://tempuri.org/">
          <xsl:element name="intA" namespace="http://tempuri.org/">0</xsl:element>
          <xsl:element name="intB" namespace="http://tempuri.org/"><xsl:value-of select="$number"/></xsl:element>
        </xsl:element>
      </soap:Body>
    </soap:Envelope>
  </xsl:template>
</xsl:stylesheet>
