import { fromBase64, toBase64 } from './base64.js';
import { isKeyName, isSignedBy } from './verifier-key.js';
import type { VerifierKey } from './verifier-key.js';

/** A signature line of a signed note. */
export interface NoteSignature {
  readonly name: string;
  /** 8 hex digits of the key. */
  readonly id: string;
  readonly signature: Uint8Array;
}

/** A signed note of C2SP: a text of whole lines, and signatures over its bytes. */
export interface SignedNote {
  /** Ends with a newline. The signatures cover it, and nothing else. */
  readonly text: string;
  readonly signatures: readonly NoteSignature[];
}

/** Signs texts under a name. */
export interface NoteSigner {
  readonly key: VerifierKey;
  readonly sign: (text: string) => Uint8Array;
}

const signaturesMax = 100;

/** Reads a signed note without verifying it. Undefined for a text that is none. */
export function parseNote(note: string): SignedNote | undefined {
  const split = note.lastIndexOf('\n\n');
  if (split === -1 || !note.endsWith('\n') || !note.isWellFormed() || hasControls(note)) return undefined;
  const lines = note.slice(split + 2, -1).split('\n');
  const signatures = lines.map(parseSignatureLine).filter((signature) => signature !== undefined);
  if (signatures.length !== lines.length || lines.length > signaturesMax) return undefined;
  return { text: note.slice(0, split + 1), signatures };
}

/** The note as a text: what is served and kept. */
export function formatNote({ text, signatures }: SignedNote): string {
  return `${text}\n${signatures.map((signature) => `${formatSignatureLine(signature)}\n`).join('')}`;
}

/** The text with a signature of each signer. The text ends with a newline. */
export function signNote(text: string, signers: readonly NoteSigner[]): SignedNote {
  return {
    text,
    signatures: signers.map(({ key, sign }) => ({ name: key.name, id: key.id, signature: sign(text) })),
  };
}

/** What the signatures of a note are worth, judged by keys that are trusted. */
export interface NoteVerdict {
  /** Keys that signed this text. */
  readonly verified: readonly VerifierKey[];
  /** Keys of which there is a signature that is not one of this text: the note is a forgery. */
  readonly refuted: readonly VerifierKey[];
  /** Signatures of keys that are not among the given ones, or of a type that cannot be verified here. */
  readonly unknown: readonly NoteSignature[];
}

/** Verifies the signatures of a note by the given keys. */
export function verifyNote({ text, signatures }: SignedNote, keys: readonly VerifierKey[]): NoteVerdict {
  const judged = signatures.map((signature) => {
    const key = keys.find(({ name, id }) => name === signature.name && id === signature.id);
    return { signature, key, isValid: key === undefined ? undefined : isSignedBy(key, text, signature.signature) };
  });
  const keysWith = (wanted: boolean): readonly VerifierKey[] => {
    const found = judged.flatMap(({ key, isValid }) => (key !== undefined && isValid === wanted ? [key] : []));
    return [...new Set(found)];
  };
  return {
    verified: keysWith(true),
    refuted: keysWith(false),
    unknown: judged.filter(({ isValid }) => isValid === undefined).map(({ signature }) => signature),
  };
}

const idBytes = 4;
const lineForm = /^\u2014 (\S+) (\S+)$/u;

/** A signature as its line: an em dash, the name, and the base64 of key id and signature. */
export function formatSignatureLine({ name, id, signature }: NoteSignature): string {
  return `\u2014 ${name} ${toBase64(Buffer.concat([Buffer.from(id, 'hex'), signature]))}`;
}

/** Reads a signature line. Undefined for a line that is none. */
export function parseSignatureLine(line: string): NoteSignature | undefined {
  const [, name = '', encoded = ''] = lineForm.exec(line) ?? [];
  const bytes = fromBase64(encoded);
  if (!isKeyName(name) || bytes === undefined || bytes.length <= idBytes) return undefined;
  return { name, id: Buffer.from(bytes.subarray(0, idBytes)).toString('hex'), signature: bytes.subarray(idBytes) };
}

function hasControls(text: string): boolean {
  for (let at = 0; at < text.length; at += 1) {
    const unit = text.charCodeAt(at);
    if (unit < 0x20 && unit !== 0x0a) return true;
  }
  return false;
}
