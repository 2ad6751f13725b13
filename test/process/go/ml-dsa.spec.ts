import { execFileSync } from 'node:child_process';
import { join } from 'node:path';
import {
  createEd25519Signer,
  createMlDsaSigner,
  formatCheckpoint,
  formatNote,
  formatVkey,
  parseNote,
  parseVkey,
  parseWitnessPolicy,
  signNote,
  verifyNote,
} from '@countersign/audit';
import { expect, it } from '@jest/globals';
import { buildJudges, describeWithGo } from '../../go-examples.ts';
import { cleanUpAfterEach, temporaryFolder } from '../harness/cleanup.js';

cleanUpAfterEach();

const origin = 'countersign.example/default/1';
const [ed25519, mlDsa] = [
  createEd25519Signer(origin, new Uint8Array(32).fill(1)),
  createMlDsaSigner(origin, new Uint8Array(32).fill(2)),
];
const text = formatCheckpoint({ origin, size: 5, root: new Uint8Array(32).fill(7), extensions: [] });

describeWithGo(() => {
  it('a witness of others verifies our ML-DSA-44 line, and its ML-DSA-44 cosignature is one for us', () => {
    if (mlDsa === undefined) throw new Error('this Node has no ML-DSA');
    const folder = temporaryFolder();
    buildJudges(folder, 'cosigner');
    const note = formatNote(signNote(text, [ed25519, mlDsa]));
    const cosign = (input: string): string =>
      execFileSync(join(folder, 'cosigner'), ['witness.example', formatVkey(mlDsa.key)], { input, encoding: 'utf8' });
    const [vkey = '', ...lines] = cosign(note).split('\n');
    const cosigned = parseNote(lines.join('\n'))!;
    const witness = parseVkey(vkey)!;
    expect(verifyNote(cosigned, [ed25519.key, mlDsa.key, witness])).toMatchObject({
      ...{ verified: { length: 3 }, refuted: [], unknown: [] },
    });
    const { policy } = parseWitnessPolicy(
      `log ${formatVkey(ed25519.key)}\nwitness w ${vkey} https://w.example\nquorum w\n`,
    ) as { readonly policy: { readonly isQuorum: (keys: readonly unknown[]) => boolean } };
    expect(policy.isQuorum(verifyNote(cosigned, [witness]).verified)).toBe(true);
    const other = { ...cosigned, text: cosigned.text.replace('\n5\n', '\n6\n') };
    expect(verifyNote(other, [witness])).toMatchObject({ verified: [], refuted: { length: 1 } });
    expect(() => cosign(note.replace('\n5\n', '\n6\n'))).toThrow(/Command failed/);
  });
});
