/**
 * The form of a secret that a program presents: a prefix, 256 bits in base 62, and a checksum. Secret scanners recognise it
 * by its prefix, and a mistyped one is refused without a read of a database.
 */
const ALPHABET = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';
const SECRET_BYTES = 32;
/** 62^43 is the first power of 62 above 2^256. */
const SECRET_CHARS = 43;
/** 62^6 is the first power of 62 above 2^32. */
const CHECKSUM_CHARS = 6;
const BODY = new RegExp(`^[0-9A-Za-z]{${SECRET_CHARS + CHECKSUM_CHARS}}$`);

/** Makes a secret. @param random returns that many bytes from a cryptographic source. */
export function mintCheckedSecret(prefix: string, random: (bytes: number) => Uint8Array): string {
  let number = 0n;
  for (const byte of random(SECRET_BYTES)) number = (number << 8n) | BigInt(byte);
  let text = '';
  for (let i = 0; i < SECRET_CHARS; i++) {
    text = ALPHABET[Number(number % 62n)] + text;
    number /= 62n;
  }
  const body = prefix + text;
  return body + checksum(body);
}

/** Whether a text has the form and the checksum of a secret with one of these prefixes. It need never have been issued. */
export function isCheckedSecret(prefixes: readonly string[], text: string): boolean {
  const prefix = prefixes.find((each) => text.startsWith(each));
  if (prefix === undefined || !BODY.test(text.slice(prefix.length))) return false;
  const body = text.slice(0, -CHECKSUM_CHARS);
  return checksum(body) === text.slice(-CHECKSUM_CHARS);
}

/** The remainders of CRC-32 (ISO 3309) by byte: a token is checked with each call of a program. */
const REMAINDERS = Uint32Array.from({ length: 256 }, (_, byte) => {
  let crc = byte;
  for (let bit = 0; bit < 8; bit++) crc = (crc >>> 1) ^ (crc & 1 ? 0xedb88320 : 0);
  return crc >>> 0;
});

/** CRC-32 of the text, which is ASCII, in base 62. It finds typing errors; it protects nothing. */
function checksum(text: string): string {
  let crc = 0xffffffff;
  for (let i = 0; i < text.length; i++)
    crc = (crc >>> 8) ^ (REMAINDERS[(crc ^ text.charCodeAt(i)) & 0xff] as number);
  let rest = (crc ^ 0xffffffff) >>> 0;
  let digits = '';
  for (let i = 0; i < CHECKSUM_CHARS; i++) {
    digits = ALPHABET[rest % 62] + digits;
    rest = Math.floor(rest / 62);
  }
  return digits;
}
