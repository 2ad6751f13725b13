import { createHash } from 'node:crypto';
import { existsSync } from 'node:fs';
import { mkdir, readFile, readdir, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { quickJava } from '../quick-java.ts';
import { cache, generatorJar, generatorVersion, root, run, runMaven } from './tools.ts';

/** The OpenAPI document that the clients are made from, and nothing else. */
export const document = join(root, 'docs', 'openapi.json');

/** The clients of openapi-generator, with the options that differ from its defaults. */
const clients = {
  python: { generatorName: 'python' },
  go: { generatorName: 'go' },
  php: { generatorName: 'php' },
  'java-native': {
    generatorName: 'java',
    library: 'native',
    additionalProperties: { artifactId: 'java-native', useSingleRequestParameter: true },
  },
  'java-okhttp': {
    generatorName: 'java',
    library: 'okhttp-gson',
    additionalProperties: { artifactId: 'java-okhttp', useSingleRequestParameter: true },
  },
} as const;

/** Neither tests nor pages: half of the files. */
const globalProperties = { apiTests: 'false', modelTests: 'false', apiDocs: 'false', modelDocs: 'false' };

/**
 * Makes all clients of openapi-generator with one start of Java, and returns the folder that has one of each name. They are kept for
 * as long as the document, the generator and the options are the same.
 */
export async function generateClients(): Promise<string> {
  const text = await readFile(document, 'utf8');
  const made = JSON.stringify({ clients, globalProperties, generatorVersion, text });
  const name = `generated-${createHash('sha256').update(made).digest('hex').slice(0, 16)}`;
  const folder = join(cache, name);
  if (existsSync(folder)) return folder;
  await mkdir(cache, { recursive: true });
  for (const old of await readdir(cache)) {
    if (old.startsWith('generated-')) await rm(join(cache, old), { recursive: true, force: true });
  }
  const unfinished = `${folder}.unfinished`;
  await mkdir(unfinished);
  const configs = Object.entries(clients).map(async ([client, options]) => {
    const config = join(unfinished, `${client}.json`);
    const places = { inputSpec: document, outputDir: join(unfinished, client) };
    await writeFile(config, JSON.stringify({ ...options, ...places, globalProperties }));
    return config;
  });
  const batch = ['-jar', await generatorJar(), 'batch', '--fail-fast', ...(await Promise.all(configs))];
  await run(root, {}, 'java', ...quickJava, ...batch);
  await resolveJars(unfinished);
  await rename(unfinished, folder);
  return folder;
}

/** Writes the jars that each client for Java needs to its file `classpath`, with one start of Maven. */
async function resolveJars(folder: string): Promise<void> {
  const modules = Object.keys(clients).filter((name) => name.startsWith('java-'));
  await writeFile(
    join(folder, 'pom.xml'),
    `<project xmlns="http://maven.apache.org/POM/4.0.0">
  <modelVersion>4.0.0</modelVersion>
  <groupId>countersign.example</groupId><artifactId>clients</artifactId><version>1</version><packaging>pom</packaging>
  <modules>${modules.map((name) => `<module>${name}</module>`).join('')}</modules>
</project>
`,
  );
  await runMaven(folder, 'dependency:build-classpath', '-Dmdep.outputFile=classpath', '-DincludeScope=compile');
}
