import { closeSync, openSync, readSync } from 'node:fs';
import { EventStoreDamagedError } from '../event-store.js';

const headerBytes = 32;
const frameHeaderBytes = 24;

/** SQLite's file format, section 4.1: the lowest bit gives the byte order of the checksums. */
const magicLittleEndian = 0x377f0682;
const magicBigEndian = 0x377f0683;

type Checksum = readonly [number, number];

interface WalHeader {
  readonly pageBytes: number;
  readonly bigEndian: boolean;
  readonly salt: bigint;
  readonly checksum: Checksum;
}

interface Frame {
  readonly page: number;
  readonly isCommit: boolean;
  readonly saltMatches: boolean;
  readonly isValid: boolean;
  readonly checksum: Checksum;
}

/** The content of the write-ahead log, as SQLite will read it. */
export interface WalScan {
  readonly commits: number;
  /** The offset of a torn, unacknowledged tail, which SQLite will drop; `undefined` when there is none. */
  readonly tornAt: number | undefined;
}

/**
 * Checks a write-ahead log before SQLite reads it. SQLite silently drops everything after the first invalid frame. That
 * is right for the torn tail of a transaction during a power cut, and a silent loss of acknowledged events when later
 * commits follow.
 *
 * How the two are distinguished: a transaction's frames are written only after the previous commit was flushed, and
 * every transaction of the event store contains `firstPage` (the page of its head row) as its first frame, or as its
 * second after page 1, because SQLite writes frames in order of page numbers. So a later frame of one of these pages
 * proves that the damaged transaction was committed and acknowledged.
 *
 * @throws EventStoreDamagedError naming file and offset.
 */
export function scanWal(file: string, firstPage: number): WalScan {
  const read = openReader(file);
  if (read === undefined) return { commits: 0, tornAt: undefined };
  try {
    const header = readHeader(read, file);
    return header === undefined ? { commits: 0, tornAt: undefined } : scanFrames(read, file, header, firstPage);
  } finally {
    read.close();
  }
}

function scanFrames(read: Reader, file: string, header: WalHeader, firstPage: number): WalScan {
  const frameBytes = frameHeaderBytes + header.pageBytes;
  const offsetOf = (index: number): number => headerBytes + index * frameBytes;
  let checksum = header.checksum;
  let [damaged, commits, transactionStart] = [0, 0, 0];
  let frame = readFrame(read, header, offsetOf(0), checksum);
  while (frame?.isValid === true) {
    damaged += 1;
    checksum = frame.checksum;
    if (frame.isCommit) {
      commits += 1;
      transactionStart = damaged;
    }
    frame = readFrame(read, header, offsetOf(damaged), checksum);
  }
  const isTorn = damaged > transactionStart || frame?.saltMatches === true;
  // The first frames of the damaged transaction prove nothing about a later one.
  const after = Math.max(damaged + 1, transactionStart + 2);
  if (hasTransactionStart(read, header, offsetOf(after), firstPage)) {
    throw new EventStoreDamagedError(
      `${file} is damaged at offset ${offsetOf(damaged)}, before commits that were acknowledged: ` +
        'restore the folder from a backup; do not delete this file, it holds events',
    );
  }
  return { commits, tornAt: isTorn ? offsetOf(transactionStart) : undefined };
}

/**
 * Returns whether a transaction begins at an offset or later. Frames from before the last restart of the file have
 * other salts.
 */
function hasTransactionStart(read: Reader, header: WalHeader, from: number, firstPage: number): boolean {
  for (let offset = from; ; offset += frameHeaderBytes + header.pageBytes) {
    const frame = readFrame(read, header, offset, header.checksum);
    if (frame === undefined) return false;
    if (frame.saltMatches && frame.page <= firstPage) return true;
  }
}

function readHeader(read: Reader, file: string): WalHeader | undefined {
  const bytes = read.at(0, headerBytes);
  // The header is flushed before the first frame is written: without a frame there is nothing to lose.
  if (bytes === undefined || !read.has(headerBytes + frameHeaderBytes)) return undefined;
  const magic = bytes.readUInt32BE(0);
  const bigEndian = magic === magicBigEndian;
  const checksum = checksumOf(bytes.subarray(0, 24), bigEndian, [0, 0]);
  const stored = [bytes.readUInt32BE(24), bytes.readUInt32BE(28)];
  if ((magic !== magicLittleEndian && !bigEndian) || checksum[0] !== stored[0] || checksum[1] !== stored[1]) {
    throw new EventStoreDamagedError(
      `${file} is damaged in its header: restore the folder from a backup; do not delete this file, it holds events`,
    );
  }
  return { pageBytes: bytes.readUInt32BE(8), bigEndian, salt: bytes.readBigUInt64BE(16), checksum };
}

function readFrame(read: Reader, header: WalHeader, offset: number, previous: Checksum): Frame | undefined {
  const bytes = read.at(offset, frameHeaderBytes + header.pageBytes);
  if (bytes === undefined) return undefined;
  const afterHeader = checksumOf(bytes.subarray(0, 8), header.bigEndian, previous);
  const checksum = checksumOf(bytes.subarray(frameHeaderBytes), header.bigEndian, afterHeader);
  const saltMatches = bytes.readBigUInt64BE(8) === header.salt;
  const checksumMatches = bytes.readUInt32BE(16) === checksum[0] && bytes.readUInt32BE(20) === checksum[1];
  return {
    page: bytes.readUInt32BE(0),
    isCommit: bytes.readUInt32BE(4) !== 0,
    saltMatches,
    isValid: saltMatches && checksumMatches,
    checksum,
  };
}

/** SQLite's file format, §4.2. */
function checksumOf(bytes: Buffer, bigEndian: boolean, [seed0, seed1]: Checksum): Checksum {
  let [sum0, sum1] = [seed0 | 0, seed1 | 0];
  for (let at = 0; at < bytes.length; at += 8) {
    sum0 = (sum0 + (bigEndian ? bytes.readInt32BE(at) : bytes.readInt32LE(at)) + sum1) | 0;
    sum1 = (sum1 + (bigEndian ? bytes.readInt32BE(at + 4) : bytes.readInt32LE(at + 4)) + sum0) | 0;
  }
  return [sum0 >>> 0, sum1 >>> 0];
}

interface Reader {
  /** The bytes at an offset, `undefined` when the file ends before. Valid until the next call. */
  readonly at: (offset: number, length: number) => Buffer | undefined;
  readonly has: (offset: number) => boolean;
  readonly close: () => void;
}

/** Reads a file a megabyte at a time; `undefined` when there is none. */
function openReader(file: string): Reader | undefined {
  let descriptor: number;
  try {
    descriptor = openSync(file, 'r');
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return undefined;
    throw error;
  }
  const window = Buffer.allocUnsafe(1 << 20);
  let [start, end] = [0, 0];
  const at = (offset: number, length: number): Buffer | undefined => {
    if (offset < start || offset + length > end) {
      start = offset;
      end = offset + readSync(descriptor, window, 0, window.length, offset);
    }
    return offset + length > end ? undefined : window.subarray(offset - start, offset - start + length);
  };
  return {
    at,
    has: (offset) => at(offset, 1) !== undefined,
    close: () => {
      closeSync(descriptor);
    },
  };
}
