import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { EventStoreUnavailableError } from '@countersign/event-store';
import { createLivePolicies, loadPolicy } from '@countersign/policy';
import type { LivePolicies, PolicyContent } from '@countersign/policy';
import { systemClock } from '@countersign/runtime';
import { createCollectingLog } from '@countersign/runtime/testing';
import { followPolicyFile } from './follow-policy-file.js';
import type { PolicyFollower } from './follow-policy-file.js';

const first = 'version: 1\nautoApprovedTools: [search]\n';
const second = 'version: 1\nrules: [{ id: a, when: args.amount > 1, then: { block: never } }]\n';

let folder: string;
let file: string;
let policies: LivePolicies;
let recorded: string[];
let record: (content: PolicyContent) => Promise<void>;
let follower: PolicyFollower;
const log = createCollectingLog();
const versionNow = (): string => policies.of('default').version;
const firstVersion = loadPolicy('p.yaml', first).version;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'countersign-policy-'));
  file = join(folder, 'policy.yaml');
  writeFileSync(file, first);
  policies = createLivePolicies(loadPolicy(file, first));
  recorded = [];
  record = ({ version }) => {
    // Recorded before it judges, so that an auditor finds the content of every version that a verdict cites.
    expect(versionNow()).toBe(firstVersion);
    recorded.push(version);
    return Promise.resolve();
  };
  const clock = systemClock;
  follower = followPolicyFile({ file, tenant: 'default', policies, record: (one) => record(one), clock, log });
});
afterEach(() => {
  follower.close();
  rmSync(folder, { recursive: true, force: true });
});

/** Waits for something to become true. A look at the file may replace a reload that still waits. */
async function until(condition: () => boolean): Promise<void> {
  const deadline = Date.now() + 100_000;
  while (!condition() && Date.now() < deadline) await new Promise((done) => setTimeout(done, 50));
}

describe('a policy file that changes', () => {
  it('is noticed, recorded and then in force', async () => {
    // The watch knows the file by now.
    await follower.reload();
    writeFileSync(file, second);
    await until(() => versionNow() !== firstVersion);
    expect(recorded).toEqual([versionNow()]);
    expect(policies.of('default').content).toMatchObject({ rules: [{ id: 'a' }] });
  });

  it.each([
    ['is not valid', 'version: 1\nrules: [{}]\n', 'rules.0'],
    ['is for another tenant', 'version: 1\ntenant: other\n', 'it is for the tenant'],
  ])('changes nothing when it %s, and the log says why', async (_, text, why) => {
    writeFileSync(file, text);
    void follower.reload();
    const said = () =>
      log.entries.filter(({ level, fields }) => level === 'error' && String(fields['error']).includes(why));
    await until(() => said().length > 0);
    expect(said()[0]?.message).toBe('the policy file cannot be used; the version in force stays');
    expect(versionNow()).toBe(firstVersion);
    expect(recorded).toEqual([]);
  });

  it('is noticed when it changed before it was followed', async () => {
    follower.close();
    writeFileSync(file, second);
    const clock = systemClock;
    follower = followPolicyFile({ file, tenant: 'default', policies, record: (one) => record(one), clock, log });
    await until(() => versionNow() !== firstVersion);
    expect(recorded).toEqual([versionNow()]);
  });

  it('changes nothing when it is gone', async () => {
    rmSync(file);
    await follower.reload();
    expect(versionNow()).toBe(firstVersion);
  });

  it('is not recorded again when its meaning is the same', async () => {
    writeFileSync(file, `# a comment\n${first}`);
    await follower.reload();
    expect(recorded).toEqual([]);
  });

  it('waits until an editor has written all of it', async () => {
    writeFileSync(file, 'version: 1\n');
    void follower.reload();
    await new Promise((done) => setTimeout(done, 250));
    writeFileSync(file, second);
    await until(() => versionNow() !== firstVersion);
    expect(recorded).toEqual([versionNow()]);
    expect(policies.of('default').content).toHaveProperty('rules');
  });

  it('waits for the event store', async () => {
    let tries = 0;
    const store = record;
    record = (content) => {
      tries += 1;
      return tries === 1 ? Promise.reject(new EventStoreUnavailableError('away')) : store(content);
    };
    writeFileSync(file, second);
    void follower.reload();
    await until(() => versionNow() !== firstVersion);
    expect(tries).toBeGreaterThan(1);
    expect(recorded).toEqual([versionNow()]);
  });
});
