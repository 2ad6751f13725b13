import { randomBytes } from 'node:crypto';
import { link, mkdir, open, readFile, rename, rm } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { expectSame } from './sink.js';
import type { Sink } from './sink.js';

/** A folder. Each file is written beside its place and synced before it gets its name, so that no file is ever half there. */
export function createFolderSink(name: string, folder: string): Sink {
  const made = new Set<string>();
  const makeFolder = async (of: string): Promise<void> => {
    if (made.has(of)) return;
    await mkdir(of, { recursive: true });
    made.add(of);
  };
  const write = async (path: string, bytes: Uint8Array, place: (beside: string, file: string) => Promise<void>) => {
    const file = join(folder, path);
    await makeFolder(dirname(file));
    const beside = `${file}.${randomBytes(6).toString('hex')}.new`;
    try {
      await writeSynced(beside, bytes);
      await place(beside, file);
      await syncFolder(dirname(file));
    } finally {
      await rm(beside, { force: true });
    }
  };
  const read = (path: string): Promise<Uint8Array | undefined> => readIfThere(join(folder, path));
  return {
    name,
    read,
    putTile: async (path, bytes) => {
      const found = await read(path);
      if (found !== undefined) {
        expectSame(path, found, bytes);
        return;
      }
      await write(path, bytes, async (beside, file) => {
        // Another process may have been first. A link never replaces a file.
        if (!(await linked(beside, file))) expectSame(path, (await read(path)) ?? bytes, bytes);
      });
    },
    putCheckpoint: (path, bytes) => write(path, bytes, rename),
    close: () => undefined,
  };
}

async function readIfThere(file: string): Promise<Uint8Array | undefined> {
  try {
    return await readFile(file);
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return undefined;
    throw error;
  }
}

/** Gives a file its name. Returns false when the name is taken. */
async function linked(beside: string, file: string): Promise<boolean> {
  try {
    await link(beside, file);
    return true;
  } catch (error) {
    if (codeOf(error) === 'EEXIST') return false;
    // Some file systems have no links. There was no file of this name a moment ago.
    if (!['EPERM', 'ENOTSUP', 'ENOSYS', 'EOPNOTSUPP'].includes(codeOf(error))) throw error;
    await rename(beside, file);
    return true;
  }
}

async function writeSynced(file: string, bytes: Uint8Array): Promise<void> {
  const handle = await open(file, 'wx');
  try {
    await handle.writeFile(bytes);
    await handle.sync();
  } finally {
    await handle.close();
  }
}

/** After a power cut the name is there too. Windows cannot sync a folder. */
async function syncFolder(folder: string): Promise<void> {
  if (process.platform === 'win32') return;
  const handle = await open(folder, 'r');
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}

function codeOf(error: unknown): string {
  return String((error as NodeJS.ErrnoException).code);
}
