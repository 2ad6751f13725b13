import { closeSync, existsSync, fsyncSync, openSync, renameSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { base32 } from '@countersign/contracts';
import { readTextFile } from '@countersign/runtime';
import type { Ids } from '@countersign/runtime';
import { z } from 'zod';

/** What a process keeps about itself in its data folder. */
export interface ProcessFile {
  readonly processId: string;
  /** The tenants about which it has recorded something. */
  readonly tenants: () => readonly string[];
  /** Adds a tenant, durably. */
  readonly addTenant: (tenant: string) => void;
}

/** `process.json` cannot be used. The message names the file and the remedy. */
export class ProcessFileError extends Error {
  override readonly name = 'ProcessFileError';
}

const schema = z.strictObject({
  processId: z.string().regex(/^[a-z2-7]{26}$/),
  tenants: z.array(z.string().min(1)),
});

const remedy = 'restore it, or remove it: then the process gets a new id, and records its whole configuration again';

/** Opens the file of the data folder; makes it, with a new id, at the first start. */
export function openProcessFile(folder: string, ids: Pick<Ids, 'randomBytes'>): ProcessFile {
  const file = join(folder, 'process.json');
  const isNew = !existsSync(file);
  let content = isNew ? { processId: base32(ids.randomBytes(16)), tenants: [] } : read(file);
  if (isNew) write(file, content);
  return {
    processId: content.processId,
    tenants: () => content.tenants,
    addTenant: (tenant) => {
      if (content.tenants.includes(tenant)) return;
      content = { ...content, tenants: [...content.tenants, tenant] };
      write(file, content);
    },
  };
}

type Content = z.infer<typeof schema>;

function read(file: string): Content {
  const text = readTextFile(file, (problem) => new ProcessFileError(`${file}: ${problem}`), remedy);
  try {
    return schema.parse(JSON.parse(text));
  } catch (cause) {
    throw new ProcessFileError(`${file} is not what a process wrote: ${remedy}`, { cause });
  }
}

function write(file: string, content: Content): void {
  const draft = `${file}.new`;
  const descriptor = openSync(draft, 'w', 0o600);
  try {
    writeSync(descriptor, `${JSON.stringify(content)}\n`);
    fsyncSync(descriptor);
  } finally {
    closeSync(descriptor);
  }
  renameSync(draft, file);
}
