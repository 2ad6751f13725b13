import { randomUUID } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import type { AddressInfo, Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createCliRun } from '@countersign/cli/testing';
import { afterAll, beforeEach, describe, expect, it } from '@jest/globals';
import type { TestServer } from '../../eventstoredb-server/server.ts';
import { createAuthority } from '../../kafka-broker/certificates.ts';
import { cleanUpAfterEach, onCleanUp, startServer } from '../eventstoredb/harness.js';

cleanUpAfterEach();

const adminPassword = 'admin-secret-4711';

/** An operator's mistakes: what the command changes, what it says, and how it ends. */
describe('countersign store, with wrong settings', () => {
  const folder = mkdtempSync(join(tmpdir(), 'countersign-store-'));
  afterAll(() => {
    rmSync(folder, { recursive: true, force: true });
  });
  const authority = createAuthority(folder);
  const tls = { ...authority.certify('eventstoredb-node'), caFile: authority.caFile };

  let server: TestServer;
  beforeEach(async () => {
    server = await startServer({ adminPassword, tls });
  });
  const as = (login: string): string => server.url.replace('esdb://', `esdb://${login}@`);
  const run = async (url: string, ...args: string[]) => {
    const environment = {
      COUNTERSIGN_EVENTSTORE_URL: url,
      COUNTERSIGN_EVENTSTORE_ADMIN_URL: as(`admin:${adminPassword}`),
    };
    const { code, out, err } = await createCliRun(environment)('store', ...args);
    return { code, text: `${out}${err}`.replaceAll(/\s+/g, ' ') };
  };
  const written = (): number => server.log.readAll(0, 'forwards', 10).length;

  it.each(['%24all', '%24admins', '%24ops'])(
    'makes no user named %s, which would grant the rights to a group',
    async (name) => {
      const { code, text } = await run(as(`${name}:hidden`), 'secure');
      expect(code).toBe(2);
      expect(text).toContain(`names ${decodeURIComponent(name)}, which stands for a group`);
      expect([written(), server.users.find(decodeURIComponent(name))]).toEqual([0, undefined]);
    },
  );

  it.each([
    ['another', 'hidden'],
    ['the same', 'of-root'],
  ])("refuses another admin as the service's user, with %s password, and changes nothing", async (_, password) => {
    server.users.create('root', 'of-root', ['$admins']);
    const { code, text } = await run(as(`root:${password}`), 'secure');
    expect(code).toBe(2);
    expect(text).toContain('names root, a member of $admins: give the service its own user. Nothing was changed');
    expect([server.users.find('root')?.password, written()]).toEqual(['of-root', 0]);
  });

  it('sets the password of a user in another group', async () => {
    server.users.create('countersign', 'old', ['reporting']);
    expect((await run(as('countersign:new'), 'secure')).code).toBe(0);
  });

  it.each(['new', 'old'])('names a user that is disabled, and changes nothing: password %s', async (password) => {
    server.users.create('countersign', 'old', []);
    server.users.find('countersign')!.isDisabled = true;
    const { code, text } = await run(as(`countersign:${password}`), 'secure');
    expect(code).toBe(2);
    expect(text).toContain('the user countersign is disabled: enable it first');
    expect([server.users.find('countersign')?.password, written()]).toEqual(['old', 0]);
  });

  it('grants nothing while a certificate of the service cannot be read', async () => {
    const { code, text } = await run(as('countersign:x').replace(/tlsCAFile=.*/, 'tlsCAFile=/none.pem'), 'secure');
    expect(code).toBe(2);
    expect(text).toContain('tlsCAFile: file not found: /none.pem');
    expect([written(), server.users.find('countersign')]).toEqual([0, undefined]);
  });

  it('keeps the readers of system streams, and lets only admins append to them', async () => {
    const settings = { $systemStreamAcl: { $r: ['monitor', '$all'], $w: ['monitor'], $mr: 'monitor', $d: 'monitor' } };
    const event = { id: randomUUID(), type: 'update-default-acl', contentType: 'application/json' };
    const data = Buffer.from(JSON.stringify(settings));
    const options = { createdMs: Date.now(), recognisesRepeats: true };
    server.log.append('$settings', 'any', [{ ...event, metadata: new Uint8Array(), data }], options);
    expect((await run(as('countersign:x'), 'secure')).code).toBe(0);
    const [last] = server.log.readStream('$settings', Number.MAX_SAFE_INTEGER, 'backwards', 1);
    expect(JSON.parse(Buffer.from(last!.data).toString())).toMatchObject({
      $systemStreamAcl: { $r: ['monitor', '$admins'], $w: '$admins', $mr: ['monitor', '$admins'], $d: '$admins' },
    });
  });

  it('says of a refused password that the server refuses it, not that rights are wrong', async () => {
    await run(as('countersign:right'), 'secure');
    const { code, text } = await run(as('countersign:wrong'), 'check');
    expect(code).toBe(1);
    expect(text).toContain('The server refuses the name or the password of COUNTERSIGN_EVENTSTORE_URL.');
    expect(text).not.toContain('has wrong rights');
  });

  it('prints no password of a connection string that is given as an argument', async () => {
    const { code, text } = await run(as('countersign:x'), 'secure', 'esdb://admin:hidden@host:2113');
    expect(code).toBe(2);
    expect(text).toContain('esdb://…@host:2113');
    expect(text).not.toContain('hidden');
  });

  it.each([
    ['a percent sign that is not encoded', 'esdb://countersign:hidden%zz@host:2113', 'not URL-encoded: write % as %25'],
    ['a port that does not exist', 'esdb://countersign:hidden@host:99999', 'not of the form host:port'],
  ])('explains %s', async (_, url, words) => {
    const { code, text } = await run(url, 'check');
    expect(code).toBe(2);
    expect(text).toContain(`COUNTERSIGN_EVENTSTORE_URL`);
    expect(text).toContain(words);
    expect(text).not.toContain('hidden');
  });

  it.each([
    [
      'speaks no TLS',
      async () => (await startServer()).url.replace('?tls=false', ''),
      'does not answer: wrong version number. Check',
    ],
    [
      'demands TLS',
      () => server.url.replace(/\?.*/, '?tls=false'),
      'it closed the connection, as a server with TLS does when a client says tls=false. Check',
    ],
    [
      'never answers',
      () => {
        const sockets: Socket[] = [];
        const silent = createServer((socket) => void sockets.push(socket)).listen(0);
        onCleanUp(() => {
          silent.close();
          for (const socket of sockets) socket.destroy();
        });
        return `esdb://127.0.0.1:${(silent.address() as AddressInfo).port}?tls=false`;
      },
      'it took longer than 5 s. Check',
    ],
    [
      'has another authority than the file names',
      () => {
        const file = join(folder, 'rubbish.pem');
        writeFileSync(file, 'no certificate');
        return server.url.replace(/tlsCAFile=.*/, `tlsCAFile=${file}`);
      },
      'unable to verify the first certificate',
    ],
    [
      'has the certificate of another address',
      async () => {
        const elsewhere = authority.certify('elsewhere', 'IP:127.0.0.2,DNS:elsewhere');
        return (await startServer({ tls: { ...elsewhere, caFile: authority.caFile } })).url;
      },
      "IP: 127.0.0.1 is not in the cert's list: 127.0.0.2",
    ],
  ])('says why it could not ask a server that %s', async (_, urlOf, words) => {
    const { code, text } = await run(await urlOf(), 'check');
    expect(code).toBe(2);
    expect(text).toContain(words);
  });
});
