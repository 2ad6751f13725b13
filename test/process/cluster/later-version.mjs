// For `--import`: this process is of a later version. It records schema version 3, and has an event type of another name.
import { registerHooks } from 'node:module';

const later = [
  [/\bschemaVersion: 2\b/g, 'schemaVersion: 3'],
  [/\bschemaVersion (>|===) 2\b/g, 'schemaVersion $1 3'],
  [/\btarget = 2\b/g, 'target = 3'],
  [/\bcurrentSchemaVersion = 2\b/g, 'currentSchemaVersion = 3'],
  [/\bValuesRevealed\b/g, 'ValuesShown'],
];

registerHooks({
  load(url, context, nextLoad) {
    const loaded = nextLoad(url, context);
    if (!/\/(apps|libs)\/[^/]+\/(bundle|dist)\//.test(url) || loaded.source === undefined) return loaded;
    const source = later.reduce((text, [old, next]) => text.replace(old, next), String(loaded.source));
    return { ...loaded, source };
  },
});
