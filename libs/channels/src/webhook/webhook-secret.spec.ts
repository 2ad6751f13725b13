import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { systemClock } from '@countersign/runtime';
import { Webhook } from 'standardwebhooks';
import { loadChannels } from '../config/load-channels.js';
import { sampleNotice } from '../testing/notices.js';
import { publicUrl } from '../testing/opened.js';
import { openVendorServer } from '../testing/vendor-server.js';
import type { VendorServer } from '../testing/vendor-server.js';
import { createWebhookChannel } from './webhook-channel.js';

/** What people write as the secret of an endpoint. */
interface Case {
  readonly about: string;
  readonly secret: string;
  readonly right: string | readonly string[];
  /** A word of the refusal. */
  readonly startSays?: string;
  /** The secrets of receivers; default: the same text. */
  readonly receivers?: readonly string[];
}

const cases = JSON.parse(
  readFileSync(join(import.meta.dirname, '..', 'testing', 'webhook-secrets.json'), 'utf8'),
) as readonly Case[];

let folder: string;
let server: VendorServer;
beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'countersign-secrets-'));
  server = await openVendorServer(() => ({ status: 204 }));
});
afterAll(async () => {
  await server.close();
  rmSync(folder, { recursive: true });
});

/** The channel of a file whose secret is in the environment, or in a file. */
function open(secret: string, place: 'env' | 'file') {
  const file = join(folder, 'channels.yaml');
  writeFileSync(join(folder, 'secret'), secret);
  const ref = place === 'env' ? '{ env: HOOK_SECRET }' : '{ file: secret }';
  const entry = `{ id: pager, type: webhook, url: "${server.url}/", secret: ${ref}, allowPrivateNetwork: true }`;
  writeFileSync(file, `version: 1\nchannels: [${entry}]\n`);
  const [config] = loadChannels(file, { HOOK_SECRET: secret }).channels;
  if (config?.type !== 'webhook') throw new Error('no webhook');
  return createWebhookChannel(config, { clock: systemClock, publicUrl });
}

/** How the receiver of the guide reads its secret. */
function guideSecretOf(text: string): string {
  return text.trim().split(/\s+/)[0] ?? '';
}

describe.each(['env', 'file'] as const)('a webhook secret by %s', (place) => {
  it.each(cases.filter(({ right }) => right === 'verifies'))('is taken by every receiver: $about', async (one) => {
    const { signal } = new AbortController();
    const from = server.received.length;
    expect(await open(one.secret, place).send([sampleNotice()], { signal })).toMatchObject({ status: 'delivered' });
    const [{ body, headers } = { body: '', headers: {} }] = server.received.slice(from);
    for (const secret of [...(one.receivers ?? [one.secret]), guideSecretOf(one.secret)]) {
      expect(() => new Webhook(secret).verify(body, headers as Record<string, string>)).not.toThrow();
    }
    const other = new Webhook(Buffer.alloc(24, 7).toString('base64'));
    expect(() => other.verify(body, headers as Record<string, string>)).toThrow();
  });

  it.each(cases.filter(({ right }) => right !== 'verifies'))('is refused at the start: $about', (one) => {
    const says = one.secret.trim() === '' && place === 'file' ? 'is empty' : (one.startSays ?? 'is not set');
    expect(() => open(one.secret, place)).toThrow(says);
    if (one.secret.trim() === '') return;
    expect(() => open(one.secret, place)).toThrow(/channels\[0\]\.secret.*openssl rand -base64 32/);
    // The words name no secret, except the example's prefix.
    if (one.secret.length > 'whsec_'.length) {
      try {
        open(one.secret, place);
      } catch (error) {
        expect(String(error)).not.toContain(one.secret.trim());
      }
    }
  });
});
