import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parse } from 'yaml';

const root = join(import.meta.dirname, '..', '..', '..');

export type Settings = Readonly<Record<string, string>>;

/** A service, as far as a process of this machine can replace its container. */
export interface ComposeService {
  readonly name: string;
  readonly image: string;
  /** Undefined: the entry point of the image. */
  readonly entrypoint: readonly string[] | undefined;
  /** Without the entry point. */
  readonly command: readonly string[];
  readonly environment: Settings;
  /** The optional files beside the compose file whose variables it gets. */
  readonly envFiles: readonly string[];
  /** A mount: the path in the container, and its volume or folder. */
  readonly volumes: readonly { readonly source: string; readonly target: string }[];
  readonly replicas: number;
  /** The command by which Docker finds out whether it is healthy; undefined when it does not ask. */
  readonly healthTest: readonly string[] | undefined;
}

/** The compose file with the settings of an `.env` in place. */
export interface ComposeFile {
  /** The document in the form that Compose validates. */
  readonly document: unknown;
  readonly services: readonly ComposeService[];
}

interface RawService {
  readonly image: string;
  readonly entrypoint?: readonly string[];
  readonly command?: readonly string[];
  readonly environment?: Settings;
  readonly env_file?: readonly { readonly path: string; readonly required: boolean }[];
  readonly volumes?: readonly string[];
  readonly deploy?: { readonly replicas?: number };
  readonly healthcheck?: { readonly test?: readonly string[] };
}

const variable = /\$\$|\$\{([A-Z0-9_]+):-([^}]*)\}|\$\{?[A-Z0-9_]*\}?/g;

/** The text of the file, unchanged. */
export function composeText(): string {
  return readFileSync(join(root, 'docker-compose.yml'), 'utf8');
}

/** `.env.example` as settings. */
export function exampleSettings(): Settings {
  const lines = readFileSync(join(root, '.env.example'), 'utf8').split('\n');
  return Object.fromEntries(
    lines.flatMap((line) => {
      const [, name, value] = /^([A-Z0-9_]+)=(.*)$/.exec(line) ?? [];
      return name === undefined || value === undefined ? [] : [[name, value]];
    }),
  );
}

/** Every variable of the file, with its default. @throws Error for one without a default. */
export function composeVariables(): Settings {
  return Object.fromEntries(
    [
      ...composeText()
        .replaceAll(/^ *#.*$/gm, '')
        .matchAll(variable),
    ].flatMap(([whole, name, byDefault]) => {
      if (whole === '$$') return [];
      if (name === undefined) throw new Error(`${whole} is not written as \${NAME:-default}`);
      return [[name, byDefault ?? '']];
    }),
  );
}

/** The file as Compose reads it: anchors merged, variables filled in. */
export function readCompose(settings: Settings = {}, text: string = composeText()): ComposeFile {
  const document = fillIn(parse(text, { merge: true }) as unknown, settings);
  const { services } = document as { readonly services: Readonly<Record<string, RawService>> };
  return { document, services: Object.entries(services).map(([name, raw]) => toService(name, raw)) };
}

function toService(name: string, raw: RawService): ComposeService {
  return {
    name,
    image: raw.image,
    entrypoint: raw.entrypoint,
    command: raw.command ?? [],
    environment: raw.environment ?? {},
    envFiles: (raw.env_file ?? []).filter(({ required }) => !required).map(({ path }) => path),
    volumes: (raw.volumes ?? []).map((text) => {
      const [source = '', target = ''] = text.split(':');
      return { source, target };
    }),
    replicas: raw.deploy?.replicas ?? 1,
    healthTest: raw.healthcheck?.test?.slice(1),
  };
}

function fillIn(value: unknown, settings: Settings): unknown {
  if (typeof value === 'string') {
    return value.replaceAll(variable, (whole, name: string | undefined, byDefault: string | undefined) => {
      if (whole === '$$') return '$';
      const set = name === undefined ? undefined : settings[name];
      return set === undefined || set === '' ? (byDefault ?? '') : set;
    });
  }
  if (Array.isArray(value)) return value.map((each) => fillIn(each, settings));
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([key, each]) => [key, fillIn(each, settings)]));
}
