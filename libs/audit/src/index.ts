export { canonicalForm } from './canonical.js';
export { formatCheckpoint, parseCheckpoint } from './checkpoint.js';
export type { Checkpoint } from './checkpoint.js';
export { cosignedMessage, cosignedText, formatTimestamped, parseTimestamped } from './cosignature.js';
export type { TimestampedSignature } from './cosignature.js';
export {
  bodyOf,
  canonicalBody,
  canonicalContent,
  digestOfBody,
  entryOf,
  firstRecordedAt,
  formatEntry,
  parseEntry,
  readEntry,
  tenantOf,
} from './entry.js';
export type { CanonicalContent, Entry, EntryEvent } from './entry.js';
export { formatExported, readExported } from './exported-event.js';
export type { ExportedEvent } from './exported-event.js';
export { emptyRoot, hashBytes, isSameHash, leafHash, nodeHash } from './hashes.js';
export type { Hash } from './hashes.js';
export { createEd25519Signer, createMlDsaSigner, deriveMlDsaSeed, deriveSeed, seedBytes } from './log-key.js';
export { formatNote, formatSignatureLine, parseNote, parseSignatureLine, signNote, verifyNote } from './note.js';
export type { NoteSignature, NoteSigner, NoteVerdict, SignedNote } from './note.js';
export { encodeTenant, formatOrigin, parseOrigin } from './origin.js';
export type { Origin } from './origin.js';
export { createNodeReader, tilePlaceOf, tileWidth } from './tiles.js';
export type { ReadTile, TilePlace } from './tiles.js';
export { formatEntries, formatTilePath, parseEntries, parseTilePath, widthAt } from './tile-path.js';
export type { TileName } from './tile-path.js';
export { formatTlogProof, parseTlogProof } from './tlog-proof.js';
export type { TlogProof } from './tlog-proof.js';
export { consistencyProof, createGrowingTree, inclusionProof, rangeAt, rootAt } from './tree.js';
export type { CompactRange, GrowingTree, OnNode, ReadNode } from './tree.js';
export { ed25519Key, formatVkey, isKeyName, isSignedBy, keyTypes, parseVkey, verifierKey } from './verifier-key.js';
export type { VerifierKey } from './verifier-key.js';
export { parseWitnessPolicy } from './witness-policy.js';
export type { ParsedPolicy, PolicyLog, PolicyWitness, WitnessPolicy } from './witness-policy.js';
export { verifyConsistency, verifyInclusion } from './verify-proofs.js';
export type { Consistency, Inclusion } from './verify-proofs.js';
export { builtInPolicy, builtInPolicyVersion } from './legality/digests.js';
export { createLegality } from './legality/legality.js';
export type { Legality } from './legality/legality.js';
export type { Illegal, JudgedEvent, Judgement, LegalityRule, Unproven } from './legality/judged-event.js';
export { readStored } from './legality/stored-events.js';
export type { ReadEvent } from './legality/stored-events.js';
export type { KnownStream, KnownStreams, StreamState } from './legality/streams.js';
export { isOfTenant, readAnchors } from './verify/anchors.js';
export type { Anchor } from './verify/anchors.js';
export type { CheckName, Finding, Place } from './verify/findings.js';
export { createEntriesVerification } from './verify/entries-verification.js';
export type { ComputedTile, EntriesOptions, EntriesVerification } from './verify/entries-verification.js';
export type { KnownIds, RepeatedId } from './verify/known-ids.js';
export { keyChangeOf, readKeyChanges } from './verify/key-changes.js';
export type { KeyChange } from './verify/key-changes.js';
export { parseShown, parseStored, readText } from './verify/parse-stored.js';
export type { ReadText } from './verify/parse-stored.js';
export { isProofEvent, parseProofFile } from './verify/proof-file.js';
export type { ProofFile, ProofFileEvent } from './verify/proof-file.js';
export type { Trust } from './verify/trust.js';
export { verifyProofFile } from './verify/verify-proof-file.js';
export type { ProofTrust } from './verify/verify-proof-file.js';
export { createVerification } from './verify/verification.js';
export type { Verification, VerificationEnd, VerificationOptions } from './verify/verification.js';
