import { spawn } from 'node:child_process';
import { keyTypes, parseSignatureLine, parseVkey } from '@countersign/audit';
import type { NoteSignature, VerifierKey } from '@countersign/audit';
import type { Clock } from '@countersign/runtime';
import type { LogSigner } from './log-signer.js';

/** A program that signs. */
export interface SignerProgram {
  /** The program and its first arguments, without a shell. */
  readonly command: readonly [program: string, ...args: readonly string[]];
  readonly clock: Clock;
  /** Default: 10,000. */
  readonly timeoutMs?: number | undefined;
}

const timeoutMsDefault = 10_000;
const outputBytesMax = 64 * 1024;
const saidMax = 300;

/** Reads `exec:<program> <argument> …`. Undefined for a text that is none. */
export function readSignerProgram(setting: string): SignerProgram['command'] | undefined {
  const [program, ...args] =
    /^exec:(.+)$/s
      .exec(setting)?.[1]
      ?.split(/\s+/)
      .filter((part) => part !== '') ?? [];
  return program === undefined ? undefined : [program, ...args];
}

/**
 * A signer that is a program, so that a key management service or a token can hold the key. With the key name as its last
 * argument it reads a text and prints a signature line of it; with the key name and `--vkey` it prints the public key. An ML-DSA-44
 * key may follow the Ed25519 key as a second line, and its signature line the first one.
 */
export function createExecSigner({ command, clock, timeoutMs = timeoutMsDefault }: SignerProgram): LogSigner {
  const keys = new Map<string, readonly [VerifierKey, VerifierKey | undefined]>();
  const [program, ...first] = command;
  const run = (args: readonly string[], input: string): Promise<string> =>
    runProgram({ program, args: [...first, ...args], input, clock, timeoutMs });
  const keysOf = async (keyName: string): Promise<readonly [VerifierKey, VerifierKey | undefined]> => {
    const known = keys.get(keyName);
    if (known !== undefined) return known;
    const printed = linesOf(await run([keyName, '--vkey'], ''));
    const [key, second] = printed.map(parseVkey).filter((one) => one?.name === keyName);
    const isSecond = second === undefined || second.type === keyTypes.mlDsaCosignature;
    if (key === undefined || !isSecond || printed.length !== (second === undefined ? 1 : 2)) {
      throw new Error(`the signer printed no vkey of ${keyName}`);
    }
    const found = [key, second] as const;
    keys.set(keyName, found);
    return found;
  };
  return {
    keyOf: async (keyName) => (await keysOf(keyName))[0],
    mlDsaKeyOf: async (keyName) => (await keysOf(keyName))[1],
    sign: async (keyName, text) => {
      const lines = linesOf(await run([keyName], text));
      const signatures = lines.map(parseSignatureLine).filter((one): one is NoteSignature => one?.name === keyName);
      if (signatures.length === lines.length && lines.length > 0) return signatures;
      throw new Error(`the signer printed no signature line of ${keyName}`);
    },
  };
}

function linesOf(printed: string): readonly string[] {
  return printed
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line !== '');
}

interface Run {
  readonly program: string;
  readonly args: readonly string[];
  readonly input: string;
  readonly clock: Clock;
  readonly timeoutMs: number;
}

/** Resolves to what the program printed. @throws Error when it fails, prints too much, or takes too long */
function runProgram({ program, args, input, clock, timeoutMs }: Run): Promise<string> {
  return new Promise((resolve, reject) => {
    const child = spawn(program, args, { stdio: ['pipe', 'pipe', 'pipe'], env: environmentOfProgram() });
    const printed = { out: '', err: '' };
    const fail = (why: string): void => {
      cancel();
      child.kill('SIGKILL');
      reject(new Error(`the signer ${why}`));
    };
    const cancel = clock.setTimer(timeoutMs, () => fail(`did not end within ${String(timeoutMs)} ms`));
    const take = (to: 'out' | 'err') => (chunk: string) => {
      printed[to] += chunk;
      if (printed[to].length > outputBytesMax) fail('printed too much');
    };
    child.stdout.setEncoding('utf8').on('data', take('out'));
    child.stderr.setEncoding('utf8').on('data', take('err'));
    child.once('error', (error) => fail(`cannot be started: ${error.message}`));
    child.once('close', (code, signal) => {
      cancel();
      if (code === 0) resolve(printed.out);
      else reject(new Error(`the signer ended with ${String(code ?? signal)}: ${said(printed.err)}`));
    });
    // It may end without reading.
    child.stdin.on('error', () => undefined);
    child.stdin.end(input);
  });
}

/** The environment without our settings, which name secrets. */
function environmentOfProgram(): NodeJS.ProcessEnv {
  return Object.fromEntries(Object.entries(process.env).filter(([name]) => !name.startsWith('COUNTERSIGN_')));
}

function said(text: string): string {
  const line = text.trim().replace(/[\p{Cc}\s]+/gu, ' ');
  return line === '' ? 'it said nothing' : line.slice(0, saidMax);
}
