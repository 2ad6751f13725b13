import { createHash } from 'node:crypto';
import { AsnConvert, OctetString } from '@peculiar/asn1-schema';
import { MessageImprint, TimeStampReq, TimeStampReqVersion } from '@peculiar/asn1-tsp';
import { AlgorithmIdentifier } from '@peculiar/asn1-x509';
import { sha256 } from './algorithms.js';

/**
 * Returns the request for a time stamp of a text, in DER: over its SHA-256, with the certificates in the answer.
 * @param nonce of 8 bytes; the answer must have it
 */
export function timestampQuery(text: string, nonce: Uint8Array): Uint8Array {
  const hashAlgorithm = new AlgorithmIdentifier({ algorithm: sha256, parameters: null });
  const hashedMessage = new OctetString(createHash('sha256').update(text).digest());
  const request = new TimeStampReq({
    version: TimeStampReqVersion.v1,
    messageImprint: new MessageImprint({ hashAlgorithm, hashedMessage }),
    nonce: Uint8Array.from(integerOf(nonce)).buffer,
    certReq: true,
  });
  return new Uint8Array(AsnConvert.serialize(request));
}

/** A positive integer in as few bytes as there can be, which is how an answer has it. */
export function integerOf(bytes: Uint8Array): Uint8Array {
  const first = bytes.findIndex((byte) => byte !== 0);
  const short = first === -1 ? new Uint8Array(1) : bytes.subarray(first);
  return (short[0] ?? 0) < 0x80 ? short : Uint8Array.from([0, ...short]);
}
