import { Readable } from 'node:stream';
import { ZipFile } from 'yazl';

/** A file that goes into a zip file. */
export interface ZipEntry {
  /** Its path in the zip file, with slashes. */
  readonly path: string;
  /** Where it is. */
  readonly file: string;
}

/** Every entry has this time, so that the same files make the same zip file. */
const mtime = new Date('2000-01-01T00:00:00Z');

/** A zip file as a stream. It reads one file at a time, and fails when one of them cannot be read. */
export function createZip(entries: readonly ZipEntry[]): Readable {
  const zip = new ZipFile();
  for (const { path, file } of entries) zip.addFile(file, path, { mtime, mode: 0o100644 });
  zip.end();
  const stream = Readable.from(zip.outputStream);
  zip.on('error', (error: Error) => stream.destroy(error));
  return stream;
}
