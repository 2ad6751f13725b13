import { isDate, isDateTime, isTime } from './calendar.js';
import { isRegExp } from './regexp-syntax.js';

const ipv4 = /^(?:(?:25[0-5]|2[0-4]\d|1\d\d|[1-9]?\d)\.){3}(?:25[0-5]|2[0-4]\d|1\d\d|[1-9]?\d)$/;
const hostname = /^[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?(?:\.[a-z0-9](?:[-0-9a-z]{0,61}[0-9a-z])?)*\.?$/i;
const mailName = /^(?:[\w!#$%&'*+/=?^`{|}~-]+(?:\.[\w!#$%&'*+/=?^`{|}~-]+)*|"(?:[^"\\\p{Cc}]|\\[ -~])*")$/u;
const mailAddress = /^\[(?:ipv6:)?([^[\]]*)\]$/i;
/** RFC 3986 without its rules for the parts; letters of other scripts, which browsers encode, are taken. */
const uri = /^[a-z][a-z0-9+\-.]*:(?:[^\s%"<>\\^`{|}\p{Cc}]|%[0-9a-f]{2})*$/iu;
const uriTemplate =
  /^(?:(?:[!#$&(-;=?-[\]_a-z~-\uffff]|%[0-9a-f]{2})|\{[+#./;?&=,!@|]?(?:[a-z0-9_]|%[0-9a-f]{2})(?:\.?(?:[a-z0-9_]|%[0-9a-f]{2}))*(?::[1-9][0-9]{0,3}|\*)?(?:,(?:[a-z0-9_]|%[0-9a-f]{2})(?:\.?(?:[a-z0-9_]|%[0-9a-f]{2}))*(?::[1-9][0-9]{0,3}|\*)?)*\})*$/i;
const hexGroup = /^[0-9a-f]{1,4}$/i;
/** Also names with `_`, as containers have them. */
const urlName = /^[\w\u{a1}-\u{ffff}-]+(?:\.[\w\u{a1}-\u{ffff}-]+)*\.?$/u;
const urlAddress = /^\[([^[\]]*)\]$/;
const portMax = 65_535;
const hostCharsMax = 253;

type TextCheck = (text: string) => boolean;

const matches =
  (pattern: RegExp): TextCheck =>
  (text) =>
    pattern.test(text);

/** The asserted string formats. Every check is linear in the length of the text. */
const textFormats = new Map<string, TextCheck>([
  ['date', isDate],
  ['time', (text) => isTime(text, 'with offset')],
  ['date-time', (text) => /^.{10}t/i.test(text) && isDateTime(text, 'with offset')],
  ['iso-time', (text) => isTime(text)],
  ['iso-date-time', (text) => /^.{10}[t\s]/i.test(text) && isDateTime(text)],
  ['duration', isDuration],
  ['uri', matches(uri)],
  ['uri-reference', matches(/^(?:(?:[a-z][a-z0-9+\-.]*:)?\/?\/)?(?:[^\\\s#][^\s#]*)?(?:#[^\\\s]*)?$/i)],
  ['uri-template', matches(uriTemplate)],
  ['url', isUrl],
  ['email', isEmail],
  ['hostname', isHostname],
  ['ipv4', matches(ipv4)],
  ['ipv6', isIpv6],
  ['regex', isRegExp],
  ['uuid', matches(/^(?:urn:uuid:)?[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}$/i)],
  ['json-pointer', matches(/^(?:\/(?:[^~/]|~0|~1)*)*$/)],
  ['json-pointer-uri-fragment', matches(/^#(?:\/(?:[a-z0-9_\-.!$&'()*+,;:=@]|%[0-9a-f]{2}|~0|~1)*)*$/i)],
  ['relative-json-pointer', matches(/^(?:0|[1-9][0-9]*)(?:#|(?:\/(?:[^~/]|~0|~1)*)*)$/)],
  ['byte', matches(/^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/)],
]);

/** As ISO 8601 writes it: the last number may have a fraction, which writers of times with milliseconds need. */
function isDuration(text: string): boolean {
  const whole = text.replace(/[.,]\d+(?=[YMWDHS]$)/, '');
  return /^P(?!$)((\d+Y)?(\d+M)?(\d+D)?(T(?=\d)(\d+H)?(\d+M)?(\d+S)?)?|(\d+W)?)$/.test(whole);
}

const int32Max = 2 ** 31 - 1;
const numberFormats = new Map<string, (value: number) => boolean>([
  ['int32', (value) => Number.isInteger(value) && value <= int32Max && value >= -int32Max - 1],
  ['int64', (value) => Number.isInteger(value) && Math.abs(value) < 2 ** 63],
]);

/** The check of a string format; undefined for one that is not asserted. */
export function textFormat(name: string): TextCheck | undefined {
  return textFormats.get(name);
}

/** The check of a number format; undefined for one that is not asserted. */
export function numberFormat(name: string): ((value: number) => boolean) | undefined {
  return numberFormats.get(name);
}

function isUrl(text: string): boolean {
  const [, rest] = /^[a-z][a-z0-9+\-.]*:\/\/(\S+)$/i.exec(text) ?? [];
  if (rest === undefined) return false;
  const [authority = ''] = rest.split(/[/?#]/, 1);
  const server = authority.slice(authority.lastIndexOf('@') + 1);
  const [, port = ''] = /:(\d*)$/.exec(server) ?? [];
  const host = server.replace(/:\d*$/, '');
  const [, address] = urlAddress.exec(host) ?? [];
  if (port.length > 5 || Number(port) > portMax) return false;
  return address === undefined ? urlName.test(host) : isIpv6(address);
}

function isHostname(text: string): boolean {
  return text.replace(/\.$/, '').length <= hostCharsMax && hostname.test(text);
}

/** RFC 5321: a name with single dots or in quotes, and a host or an address in brackets. */
function isEmail(text: string): boolean {
  const at = text.lastIndexOf('@');
  if (at < 0 || !mailName.test(text.slice(0, at))) return false;
  const server = text.slice(at + 1);
  const [, address] = mailAddress.exec(server) ?? [];
  if (address === undefined) return isHostname(server) && !server.endsWith('.');
  return /^\[ipv6:/i.test(server) ? isIpv6(address) : ipv4.test(address);
}

function isIpv6(text: string): boolean {
  if (text.length > 45) return false;
  const halves = text.split('::');
  if (halves.length > 2) return false;
  const groups = halves.flatMap((half, index) => groupsOf(half, index === halves.length - 1));
  if (!groups.every((group) => hexGroup.test(group))) return false;
  return halves.length === 2 ? groups.length <= 7 : groups.length === 8;
}

/** The groups of one side of `::`; an IPv4 address at the end counts as two. */
function groupsOf(half: string, isLast: boolean): readonly string[] {
  if (half === '') return [];
  const groups = half.split(':');
  const end = groups.at(-1) ?? '';
  return isLast && ipv4.test(end) ? [...groups.slice(0, -1), '0', '0'] : groups;
}
