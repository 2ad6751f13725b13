import { posix } from 'node:path';

/** A piece of source text by its file. */
export type Sources = ReadonlyMap<string, string>;

/** A function or constant: `file#name`. */
type Name = string;

/** The lines that make a refusal. */
export function refusals(text: string): string[] {
  return text.split('\n').filter((line) => /(?<!function )\brefus(?:ed|alOfFields)\(|\bcode: '/.test(line));
}

/**
 * Returns, for each file, what it uses of other files that makes a refusal, itself or through what it uses in turn. Seen are functions
 * and constants at the top of a file, imported by their name from a file of `sources` or from `@countersign/domain`; not what is reached
 * through a port or an object.
 */
export function refusersUsed(sources: Sources): ReadonlyMap<string, readonly Name[]> {
  const declared = new Map([...sources].flatMap(([file, text]) => declarationsOf(file, withoutComments(text))));
  const ofDomain = new Map(
    [...declared.keys()].flatMap((name) =>
      name.startsWith('libs/domain/') ? [[partsOf(name)[1], name] as const] : [],
    ),
  );
  const imported = new Map([...sources].map(([file, text]) => [file, importsOf(file, text, ofDomain)]));
  const uses = new Map(
    [...declared].map(([name, text]) => {
      const [file] = partsOf(name);
      const words = new Set(text.match(/\b[A-Za-z_]\w*\b/g));
      const used = [...words].flatMap((word) => imported.get(file)?.get(word) ?? `${file}#${word}`);
      return [name, used.filter((one) => one !== name && declared.has(one))];
    }),
  );
  const refusing = new Set([...declared].flatMap(([name, text]) => (refusals(text).length > 0 ? [name] : [])));
  for (let before = -1; before !== refusing.size;) {
    before = refusing.size;
    for (const [name, used] of uses) if (used.some((one) => refusing.has(one))) refusing.add(name);
  }
  const ofFile = (file: string): readonly Name[] => {
    const all = [...uses].flatMap(([name, used]) => (partsOf(name)[0] === file ? used : []));
    return [...new Set(all)].filter((one) => refusing.has(one) && partsOf(one)[0] !== file).toSorted();
  };
  return new Map([...sources.keys()].map((file) => [file, ofFile(file)]));
}

function partsOf(name: Name): readonly [file: string, name: string] {
  const [file = '', own = ''] = name.split('#');
  return [file, own];
}

function withoutComments(text: string): string {
  return text.replaceAll(/\/\*[\s\S]*?\*\//g, '').replaceAll(/^\s*\/\/.*$/gm, '');
}

function declarationsOf(file: string, text: string): readonly (readonly [Name, string])[] {
  return text.split(/^(?=(?:export )?(?:async )?(?:function|const|class|interface|type) )/m).flatMap((part) => {
    const name = /^(?:export )?(?:async )?(?:function|const|class) (\w+)/.exec(part)?.[1];
    return name === undefined ? [] : [[`${file}#${name}`, part] as const];
  });
}

function importsOf(file: string, text: string, ofDomain: ReadonlyMap<string, Name>): ReadonlyMap<string, Name> {
  const imports = text.matchAll(/^import (?!type\b)\{([^}]*)\} from '([^']+)';/gm);
  const found = [...imports].flatMap(([, names = '', path = '']) =>
    names.split(',').flatMap((one) => {
      const [name = '', local = name] = one.trim().split(' as ');
      const from = path.startsWith('.')
        ? `${posix.join(posix.dirname(file), path.replace(/\.js$/, '.ts'))}#${name}`
        : undefined;
      const target = path === '@countersign/domain' ? ofDomain.get(name) : from;
      return target === undefined ? [] : [[local, target] as const];
    }),
  );
  return new Map(found);
}
