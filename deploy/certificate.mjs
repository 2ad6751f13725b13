// Makes a certificate for a server of this deployment. Node signs, and has nothing that writes a certificate.
import { generateKeyPairSync, randomBytes, sign } from 'node:crypto';

/** OBJECT IDENTIFIERs, encoded: https://www.rfc-editor.org/rfc/rfc5280 and rfc5758 */
const ecdsaWithSha256 = '06082a8648ce3d040302';
const commonName = '0603550403';
const subjectAltName = '0603551d11';

/**
 * A new key on the curve P-256, and a certificate for these DNS names that it signs itself: a client has it as its only
 * authority. It never expires; a new one is made when its file is gone.
 */
export function selfSigned(names) {
  const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const algorithm = sequence(hex(ecdsaWithSha256));
  const name = sequence(der(0x31, sequence(hex(commonName), der(0x0c, Buffer.from(names[0])))));
  const toBeSigned = sequence(
    der(0xa0, der(0x02, hex('02'))), // version 3
    der(0x02, Buffer.concat([hex('01'), randomBytes(15)])), // serial number
    algorithm,
    name,
    sequence(der(0x17, Buffer.from('240101000000Z')), der(0x18, Buffer.from('99991231235959Z'))),
    name,
    publicKey.export({ type: 'spki', format: 'der' }),
    der(0xa3, sequence(sequence(hex(subjectAltName), der(0x04, sequence(...names.map(dnsName)))))),
  );
  const signature = der(0x03, hex('00'), sign('sha256', toBeSigned, privateKey));
  return {
    cert: toPem(sequence(toBeSigned, algorithm, signature)),
    key: privateKey.export({ type: 'pkcs8', format: 'pem' }).trim(),
  };
}

function dnsName(name) {
  return der(0x82, Buffer.from(name));
}

function sequence(...parts) {
  return der(0x30, ...parts);
}

/** A value in DER: its tag, its length, its bytes. */
function der(tag, ...parts) {
  const bytes = Buffer.concat(parts);
  return Buffer.concat([Buffer.from([tag, ...lengthOf(bytes)]), bytes]);
}

function lengthOf({ length }) {
  if (length < 0x80) return [length];
  return length < 0x100 ? [0x81, length] : [0x82, length >> 8, length & 0xff];
}

function hex(text) {
  return Buffer.from(text, 'hex');
}

function toPem(bytes) {
  const lines = bytes.toString('base64').match(/.{1,64}/g);
  return ['-----BEGIN CERTIFICATE-----', ...lines, '-----END CERTIFICATE-----'].join('\n');
}
