-- Signed tokens (RFC 7519), verified with the OpenSSL library that nginx itself links.
local ffi = require "ffi"
local cjson = require "cjson.safe"

ffi.cdef [[
typedef struct evp_md_st EVP_MD;
typedef struct evp_md_ctx_st EVP_MD_CTX;
typedef struct evp_pkey_st EVP_PKEY;
const EVP_MD *EVP_sha256(void);
unsigned char *HMAC(const EVP_MD *, const void *key, int key_bytes, const unsigned char *text, size_t bytes,
                    unsigned char *out, unsigned int *out_bytes);
int CRYPTO_memcmp(const void *, const void *, size_t);
EVP_PKEY *d2i_PUBKEY(EVP_PKEY **, const unsigned char **der, long bytes);
void EVP_PKEY_free(EVP_PKEY *);
EVP_MD_CTX *EVP_MD_CTX_new(void);
void EVP_MD_CTX_free(EVP_MD_CTX *);
int EVP_DigestVerifyInit(EVP_MD_CTX *, void *, const EVP_MD *, void *, EVP_PKEY *);
int EVP_DigestVerify(EVP_MD_CTX *, const unsigned char *signature, size_t signature_bytes,
                     const unsigned char *text, size_t bytes);
]]

local C = ffi.C
local SHA256_BYTES = 32
local hash, hash_bytes = ffi.new("unsigned char[?]", SHA256_BYTES), ffi.new("unsigned int[1]")

-- Decodes the Base64 of tokens (RFC 4648 section 5), which has no padding; returns nil if the text
-- is not Base64.
local function decoded(text)
    text = text:gsub("-", "+"):gsub("_", "/")
    return ngx.decode_base64(text .. ("="):rep(-#text % 4))
end

local function hmac_is(secret, text, signature)
    C.HMAC(C.EVP_sha256(), secret, #secret, text, #text, hash, hash_bytes)
    return #signature == SHA256_BYTES and C.CRYPTO_memcmp(hash, signature, SHA256_BYTES) == 0
end

local function rsa_is(key, text, signature)
    local context = ffi.gc(C.EVP_MD_CTX_new(), C.EVP_MD_CTX_free)
    return C.EVP_DigestVerifyInit(context, nil, C.EVP_sha256(), nil, key) == 1
        and C.EVP_DigestVerify(context, signature, #signature, text, #text) == 1
end

-- Returns the public key in a PEM string.
local function public_key(pem)
    local der = ngx.decode_base64((pem:gsub("%-%-%-%-%-[^-]*%-%-%-%-%-", ""):gsub("%s", "")))
    local at = ffi.new("const unsigned char *[1]", ffi.cast("const unsigned char *", der))
    local key = C.d2i_PUBKEY(nil, at, #der)
    assert(key ~= nil, "a public key cannot be read")
    return ffi.gc(key, C.EVP_PKEY_free)
end

local Rules = { leeway = 0 }
Rules.__index = Rules

local token = {}

function token.rules()
    return setmetatable({ keys = {} }, Rules)
end

function Rules:hs256(secret, id)
    self.keys[#self.keys + 1] = { alg = "HS256", id = id, is = hmac_is, key = secret }
    return self
end

function Rules:rs256(pem, id)
    self.keys[#self.keys + 1] = { alg = "RS256", id = id, is = rsa_is, key = public_key(pem) }
    return self
end

function Rules:issued_by(issuer)
    self.issuer = issuer
    return self
end

function Rules:meant_for(audience)
    self.audience = audience
    return self
end

function Rules:with_leeway(seconds)
    self.leeway = seconds
    return self
end

function Rules:is_signed(head, text, signature)
    for _, key in ipairs(self.keys) do
        local fits = key.alg == head.alg and (head.kid == nil or key.id == nil or head.kid == key.id)
        if fits and key.is(key.key, text, signature) then
            return true
        end
    end
    return false
end

function Rules:is_for(audience)
    for _, one in ipairs(type(audience) == "table" and audience or { audience }) do
        if one == self.audience then
            return true
        end
    end
    return self.audience == nil
end

function Rules:accepts(claims)
    local now = ngx.time()
    return (self.issuer == nil or claims.iss == self.issuer)
        and self:is_for(claims.aud)
        and (claims.exp == nil or type(claims.exp) == "number" and now < claims.exp + self.leeway)
        and (claims.nbf == nil or type(claims.nbf) == "number" and now >= claims.nbf - self.leeway)
end

-- Returns the subject of the token in an Authorization header, or "" if the token has no subject;
-- nil if the token is missing or not valid.
function Rules:subject_of(authorization)
    local scheme, text, signature = (authorization or ""):match("^(%a+) +([%w_-]+%.[%w_-]+)%.([%w_-]*)$")
    if not scheme or scheme:lower() ~= "bearer" then
        return nil
    end
    local head, claims = text:match("^([^.]*)%.(.*)$")
    head, claims, signature = decoded(head), decoded(claims), decoded(signature)
    head, claims = cjson.decode(head or ""), cjson.decode(claims or "")
    if type(head) ~= "table" or type(claims) ~= "table" or not signature then
        return nil
    end
    if not self:is_signed(head, text, signature) or not self:accepts(claims) then
        return nil
    end
    return tostring(claims.sub or "")
end

return token
