/** The strings and the numbers of a JSON text. */
const tokens = /"(?:[^"\\]|\\.)*"|-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?/g;

/** A number as its digits and its exponent, the same for every way to write it; undefined: no number of JSON. */
function decimalOf(text: string): string | undefined {
  const [, sign = '', whole, fraction = '', exponent = '0'] =
    /^(-?)(0|[1-9]\d*)(?:\.(\d+))?(?:[eE]([+-]?\d+))?$/.exec(text) ?? [];
  if (whole === undefined) return undefined;
  const digits = `${whole}${fraction}`.replace(/^0+/, '');
  const significant = digits.replace(/0+$/, '');
  if (significant === '') return '0';
  const places = Number(exponent) - fraction.length + (digits.length - significant.length);
  return `${sign}${significant}e${String(places)}`;
}

/** Returns the number that a text writes; undefined: it writes none, or none that is kept exactly. */
export function exactNumber(text: string): number | undefined {
  const decimal = decimalOf(text);
  if (decimal === undefined) return undefined;
  const number = Number(text);
  return decimalOf(String(number)) === decimal ? number : undefined;
}

/** The first number of a JSON text that would become another one; undefined: each is kept exactly. */
export function inexactNumberIn(json: string): string | undefined {
  return (json.match(tokens) ?? []).find((token) => !token.startsWith('"') && exactNumber(token) === undefined);
}
