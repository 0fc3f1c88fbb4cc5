<?xml version="1.0" encoding="utf-8"?>
<!-- {"operation": "Add", "intA": 50, "intB": 10} becomes a SOAP request. -->
<xsl:stylesheet version="3.0" xmlns:xsl="http://www.w3.org/1999/XSL/Transform"
    xmlns:j="http://www.w3.org/2005/xpath-functions" exclude-result-prefixes="j"
    xmlns:soap="http://schemas.xmlsoap.org/soap/envelope/">
  <xsl:output method="xml" encoding="utf-8"/>
  <xsl:template match="/">
    <xsl:variable name="call" select="json-to-xml(.)/j:map"/>
    <soap:Envelope>
      <soap:Body>
        <xsl:element name="{$call/j:string[@key='operation']}" namespace="http://tempuri.org/">
          <xsl:for-each select="'intA', 'intB'">
            <xsl:element name="{.}" namespace="http://tempuri.org/">
              <xsl:value-of select="let $name := . return $call/j:number[@key = $name]"/>
            </xsl:element>
          </xsl:for-each>
        </xsl:element>
      </soap:Body>
    </soap:Envelope>
  </xsl:template>
</xsl:stylesheet>
