/**
 * Returns what `promtool check metrics` of Prometheus complains about, one line for each complaint: the rules of its linter for
 * the text format.
 */
export function lintMetrics(text: string): readonly string[] {
  const helped = new Set([...text.matchAll(/^# HELP (\S+) \S/gm)].map(([, name = '']) => name));
  return [...text.matchAll(/^# TYPE (\S+) (\w+)$/gm)].flatMap(([, name = '', type = '']) => {
    const labels = labelsOf(text, name);
    const complaints = [...complaintsAbout(name, type, labels), ...(helped.has(name) ? [] : ['has no help'])];
    return complaints.map((complaint) => `${name} (${type}): ${complaint}`);
  });
}

const baseUnits = ['amperes', 'bytes', 'celsius', 'grams', 'joules', 'kelvin', 'meters', 'metres', 'seconds', 'volts'];
const prefixes = 'pico|nano|micro|milli|centi|deci|deca|hecto|kilo|kibi|mega|mebi|giga|gibi|tera|tebi|peta|pebi';
const otherUnits = ['bits', 'minutes', 'hours', 'days', 'weeks', 'fahrenheit', 'inches', 'miles', 'pounds', 'ounces'];
const scaled = new RegExp(`^(?:${prefixes})(?:${baseUnits.join('|')})$`);
const abbreviations = new Set(['s', 'ms', 'us', 'ns', 'sec', 'b', 'kb', 'mb', 'gb', 'tb', 'pb', 'm', 'h', 'd']);

function complaintsAbout(name: string, type: string, labels: ReadonlySet<string>): string[] {
  const words = name.split('_');
  const isTotal = name.endsWith('_total');
  const checks: readonly (readonly [isWrong: boolean, complaint: string])[] = [
    [type === 'counter' && !isTotal, 'a counter ends in _total'],
    [type !== 'counter' && isTotal, 'only a counter ends in _total'],
    [words.some((word) => scaled.test(word) || otherUnits.includes(word)), 'use the base unit'],
    [words.some((word) => abbreviations.has(word)), 'write the unit out'],
    [words.includes(type), 'a name has no type in it'],
    [type !== 'histogram' && name.endsWith('_bucket'), 'only a histogram has buckets'],
    [!['histogram', 'summary'].includes(type) && /_(?:count|sum)$/.test(name), 'the suffix of a histogram or summary'],
    [type !== 'histogram' && labels.has('le'), 'only a histogram has the label le'],
    [type !== 'summary' && labels.has('quantile'), 'only a summary has the label quantile'],
    [name.includes(':'), 'a colon is for recording rules'],
    [[name, ...labels].some((one) => /[a-z][A-Z]/.test(one)), 'names are snake_case'],
  ];
  return checks.filter(([isWrong]) => isWrong).map(([, complaint]) => complaint);
}

/** The labels of a metric in any of its samples. */
function labelsOf(text: string, name: string): ReadonlySet<string> {
  const samples = text.matchAll(new RegExp(`^${name}(?:_bucket|_sum|_count)?\\{(.*)\\} `, 'gm'));
  return new Set(
    [...samples].flatMap(([, labels = '']) => [...labels.matchAll(/(\w+)="/g)].map(([, one = '']) => one)),
  );
}
