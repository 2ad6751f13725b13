import { createPublicKey, verify } from 'node:crypto';
import type { KeyObject } from 'node:crypto';
import { parseCheckpoint } from './checkpoint.js';

/** The name of a cosigner, and the bytes of its public key. */
export interface Cosigner {
  readonly name: string;
  readonly key: Uint8Array;
}

/** The parts of a cosignature of C2SP's tlog-cosignature. */
export interface TimestampedSignature {
  /** Seconds since 1970; 0: the cosigner does not say when. */
  readonly time: bigint;
  readonly signature: Uint8Array;
}

const timeBytes = 8;
const timeMax = 2n ** 63n - 1n;
const ed25519Bytes = 32;
/** The bytes of a public ML-DSA-44 key. */
export const mlDsaKeyBytes = 1312;
/** The DER bytes of a SubjectPublicKeyInfo before the 32 bytes of an Ed25519 key. */
const ed25519SpkiPrefix = Buffer.from('302a300506032b6570032100', 'hex');
/** The same before the 1,312 bytes of an ML-DSA-44 key. */
const mlDsaSpkiPrefix = Buffer.from('30820532300b06096086480165030403110382052100', 'hex');

/** Splits the bytes of a cosignature into its time and its signature. Undefined for bytes that are none. */
export function parseTimestamped(bytes: Uint8Array): TimestampedSignature | undefined {
  if (bytes.length <= timeBytes) return undefined;
  const time = Buffer.from(bytes).readBigUInt64BE();
  return time > timeMax ? undefined : { time, signature: bytes.subarray(timeBytes) };
}

/** The bytes of a cosignature: the time, and the signature after it. */
export function formatTimestamped({ time, signature }: TimestampedSignature): Uint8Array {
  return Buffer.concat([bigEndian(time), signature]);
}

/** The text that an Ed25519 cosignature of a checkpoint covers. */
export function cosignedText(text: string, time: bigint): string {
  return `cosignature/v1\ntime ${String(time)}\n${text}`;
}

/** The bytes that an ML-DSA-44 cosignature of a checkpoint covers. Undefined for a text that is no checkpoint. */
export function cosignedMessage(name: string, text: string, time: bigint): Uint8Array | undefined {
  const checkpoint = parseCheckpoint(text);
  const [signer, origin] = [Buffer.from(name), Buffer.from(checkpoint?.origin ?? '')];
  if (checkpoint === undefined || signer.length > 255 || origin.length > 255) return undefined;
  return Buffer.concat([
    Buffer.from('subtree/v1\n\0'),
    Buffer.of(signer.length),
    signer,
    bigEndian(time),
    Buffer.of(origin.length),
    origin,
    bigEndian(0n),
    bigEndian(BigInt(checkpoint.size)),
    checkpoint.root,
  ]);
}

/** Returns whether this Ed25519 key signed these bytes. */
export function isEd25519Signature(key: Uint8Array, content: string | Uint8Array, signature: Uint8Array): boolean {
  if (key.length !== ed25519Bytes) return false;
  const publicKey = keyOf(Buffer.concat([ed25519SpkiPrefix, key]));
  return publicKey !== undefined && verify(null, bytesOf(content), publicKey, signature);
}

/** Returns whether an Ed25519 key cosigned the checkpoint. */
export function isEd25519Cosignature({ key }: Cosigner, text: string, bytes: Uint8Array): boolean {
  const parts = parseTimestamped(bytes);
  return parts !== undefined && isEd25519Signature(key, cosignedText(text, parts.time), parts.signature);
}

/** Returns whether an ML-DSA-44 key cosigned the checkpoint; undefined where the runtime does not have ML-DSA. */
export function isMlDsaCosignature({ name, key }: Cosigner, text: string, bytes: Uint8Array): boolean | undefined {
  const parts = parseTimestamped(bytes);
  const message = parts === undefined ? undefined : cosignedMessage(name, text, parts.time);
  if (parts === undefined || message === undefined || key.length !== mlDsaKeyBytes) return false;
  const publicKey = keyOf(Buffer.concat([mlDsaSpkiPrefix, key]));
  return publicKey === undefined ? undefined : verify(null, message, publicKey, parts.signature);
}

function keyOf(spki: Buffer): KeyObject | undefined {
  try {
    return createPublicKey({ key: spki, format: 'der', type: 'spki' });
  } catch {
    return undefined;
  }
}

function bytesOf(content: string | Uint8Array): Uint8Array {
  return typeof content === 'string' ? Buffer.from(content) : content;
}

function bigEndian(value: bigint): Buffer {
  const bytes = Buffer.alloc(timeBytes);
  bytes.writeBigUInt64BE(value);
  return bytes;
}
