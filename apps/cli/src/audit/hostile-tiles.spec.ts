import { cpSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { formatVkey } from '@countersign/audit';
import {
  approvedStory,
  honestCheckpoint,
  keyChanged,
  proofOfCall,
  signedChange,
  strangerSigner as next,
  testSigner as old,
} from '@countersign/audit/testing';
import { exportTo, rewriteManifest } from '../testing/bundle-of.js';
import { createCliRun } from '../testing/cli-run.js';
import { hashFile } from '../bundle/manifest.js';

const story = approvedStory().claim().report().events;
const events = [...story, keyChanged(story, old, next)];
const change = JSON.stringify(signedChange(events, [old, next]));
const note = honestCheckpoint(events, next);
const linesOf = (count: number): string => `${change}\n`.repeat(count);

let top: string;
let bundle: string;
let vkey: readonly string[];
let server: Server | undefined;
beforeAll(async () => {
  top = mkdtempSync(join(tmpdir(), 'countersign-'));
  bundle = join(top, 'bundle');
  await exportTo(bundle, { events, note });
  writeFileSync(join(top, 'keys'), formatVkey(old.key));
  vkey = ['--vkey', join(top, 'keys')];
});
afterEach(() => {
  server?.close();
  server?.closeAllConnections();
  server = undefined;
});
afterAll(() => {
  rmSync(top, { recursive: true });
});

const run = createCliRun({});
/** The error without the line ends that fit it to the terminal. */
async function verify(source: string, ...more: readonly string[]) {
  const { code, err } = await run('audit', 'verify', source, ...vkey, ...more);
  return { code, err: err.replaceAll(/\s+/g, ' ') };
}

function bundleWith(changes: string): string {
  const folder = mkdtempSync(join(top, 'bundle-'));
  cpSync(bundle, folder, { recursive: true });
  writeFileSync(join(folder, 'tiles', 'key-changes'), changes);
  rewriteManifest(folder, (manifest) => ({
    ...manifest,
    files: { ...manifest.files, 'tiles/key-changes': hashFile(join(folder, 'tiles', 'key-changes')) },
  }));
  return folder;
}

/** Serves each path with a status and a text. */
async function serve(answer: (path: string, token: string | undefined) => readonly [number, string]): Promise<string> {
  const listening = createServer(({ url = '', headers }, response) => {
    const [status, text] = answer(url, headers.authorization);
    response.writeHead(status).end(text);
  });
  server = listening;
  await new Promise<void>((resolve) => listening.listen(0, '127.0.0.1', resolve));
  return `http://127.0.0.1:${String((listening.address() as AddressInfo).port)}`;
}

describe('more than 1,000 changes of the log key', () => {
  const [enough, tooMany] = [linesOf(1000), linesOf(1001)];
  const refusal = {
    code: 2,
    err: expect.stringContaining('more than 1000 changes of the log key') as unknown,
  };

  it('are refused in a bundle', async () => {
    expect(await verify(bundleWith(enough))).toMatchObject({ code: 0 });
    expect(await verify(bundleWith(tooMany))).toMatchObject(refusal);
  });

  it('are refused in a folder of tiles and at an address', async () => {
    expect(await verify(join(bundleWith(enough), 'tiles'))).toMatchObject({ code: 0 });
    expect(await verify(join(bundleWith(tooMany), 'tiles'))).toMatchObject(refusal);
    const url = await serve((path) => (path === '/checkpoint' ? [200, note] : [200, tooMany]));
    expect(await verify(url)).toMatchObject(refusal);
  });

  it('are refused in a proof', async () => {
    const { stream } = story.find((event) => event.stream.startsWith('toolCall-'))!;
    const keyChanges = Array.from({ length: 1001 }, () => JSON.parse(change) as object);
    const proof = {
      format: 'countersign-proof/1',
      ...proofOfCall(events, stream.slice('toolCall-'.length)),
      keyChanges,
    };
    writeFileSync(join(top, 'proof.json'), JSON.stringify(proof));
    expect(await verify(join(top, 'proof.json'))).toMatchObject(refusal);
  });
});

describe('tiles at an address', () => {
  it('name the token that is missing, not accepted or without the right', async () => {
    const url = await serve((_, token) => (token === 'Bearer mine' ? [403, ''] : [401, '']));
    const errorsOf = async (...more: readonly string[]) => (await verify(`${url}/v1/log`, ...more)).err;
    expect(await errorsOf()).toMatch(/needs the token of an auditor.*Set COUNTERSIGN_TOKEN, or give --token/s);
    expect(await errorsOf('--token', 'other')).toMatch(/token is not accepted.*Check COUNTERSIGN_TOKEN or --token/s);
    expect(await errorsOf('--token', 'mine')).toMatch(/right to read it is missing.*token of an auditor/s);
  });

  it('name an address without tiles, and one that nothing listens at', async () => {
    const url = await serve(() => [404, '']);
    expect((await verify(url)).err).toMatch(/no checkpoint in http.*ends with \/v1\/log/s);
    server?.close();
    expect((await verify(url)).err).toMatch(/ECONNREFUSED.*Check the address/s);
  });

  it('are not read without end', async () => {
    const url = await serve(() => [200, 'x'.repeat(1024 * 1024 + 1)]);
    expect(await verify(url)).toMatchObject({
      code: 2,
      err: expect.stringContaining('more than 1048576 bytes') as unknown,
    });
  });
});
