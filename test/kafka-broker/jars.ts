import { execFile } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { mkdir, mkdtemp, rename, rm } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { quickJava } from '../quick-java.ts';

const run = promisify(execFile);
const pom = join(import.meta.dirname, 'pom.xml');
const cache = join(dirname(dirname(import.meta.dirname)), '.cache');

/** The version of Apache Kafka that the tests run. */
export const kafkaVersion = /kafka_2\.13<\/artifactId>\s*<version>([\d.]+)</.exec(readFileSync(pom, 'utf8'))?.[1] ?? '';

const folder = join(cache, `kafka-${kafkaVersion}`);

/** Returns what is missing to run a broker's jars, in words; undefined when nothing is. */
export async function missingForJars(): Promise<string | undefined> {
  const java = await firstLine('java', '-version');
  const major = Number(/version "(\d+)/.exec(java ?? '')?.[1] ?? 0);
  if (major < 17) return java === undefined ? 'no Java' : `Java 17 or newer, this is ${java}`;
  if (existsSync(folder) || (await firstLine('mvn', '-v')) !== undefined) return undefined;
  return 'no Maven, which copies the jars of Apache Kafka';
}

/** The folder with the broker's jars. The first call copies them there, which takes up to a minute. */
export async function brokerJars(): Promise<string> {
  if (existsSync(folder)) return folder;
  await mkdir(cache, { recursive: true });
  process.stderr.write(`Fetching Apache Kafka ${kafkaVersion} for the tests (once) …\n`);
  const startedAt = performance.now();
  // Under a temporary name first: two runs may do this at once, and a half-copied folder must never be used.
  const copy = await mkdtemp(join(cache, 'kafka-copy-'));
  try {
    const copying = ['-B', '-q', '-f', pom, 'dependency:copy-dependencies', `-DoutputDirectory=${copy}`];
    await run('mvn', copying, { env: { MAVEN_OPTS: quickJava.join(' '), ...process.env } });
    await rename(copy, folder);
  } catch (error) {
    await rm(copy, { recursive: true, force: true });
    if (!existsSync(folder)) throw new Error('Apache Kafka could not be fetched with Maven', { cause: error });
  }
  const seconds = Math.round((performance.now() - startedAt) / 1000);
  process.stderr.write(`Fetching Apache Kafka ${kafkaVersion}: done in ${seconds} s\n`);
  return folder;
}

/** Java writes its version to the standard error. */
async function firstLine(command: string, argument: string): Promise<string | undefined> {
  try {
    const { stdout, stderr } = await run(command, [argument], { timeout: 20_000 });
    return `${stdout}${stderr}`.split('\n')[0];
  } catch {
    return undefined;
  }
}
