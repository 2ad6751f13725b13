import { X509Certificate } from 'node:crypto';
import { AsnConvert } from '@peculiar/asn1-schema';
import {
  BasicConstraints,
  Certificate,
  ExtendedKeyUsage,
  KeyUsage,
  KeyUsageFlags,
  anyExtendedKeyUsage,
  id_ce_basicConstraints,
  id_ce_certificatePolicies,
  id_ce_extKeyUsage,
  id_ce_inhibitAnyPolicy,
  id_ce_keyUsage,
  id_ce_policyConstraints,
  id_kp_timeStamping,
} from '@peculiar/asn1-x509';
import type { Extension } from '@peculiar/asn1-x509';
import { demandStrongKey, isStrongSignature } from './algorithms.js';
import { demand } from './refused.js';

/** What a certificate allows. */
interface Allowed {
  readonly isAuthority: boolean;
  /** How many authorities may follow it on the way to a signer; undefined: any number. */
  readonly pathLength: number | undefined;
  /** The flags of its usage; undefined: it names none. */
  readonly usage: number | undefined;
  /** The purposes; undefined: it names none. */
  readonly purposes: readonly string[] | undefined;
  readonly isPurposeCritical: boolean;
}

/** The critical extensions that are evaluated here, or that limit policies, which nobody asks for. */
const understood: readonly string[] = [
  ...[id_ce_basicConstraints, id_ce_keyUsage, id_ce_extKeyUsage],
  ...[id_ce_certificatePolicies, id_ce_policyConstraints, id_ce_inhibitAnyPolicy],
];
const signing = KeyUsageFlags.digitalSignature | KeyUsageFlags.nonRepudiation;

/** @throws Refused unless the certificate may sign time stamps, and did so while it was valid */
export function demandSigner(certificate: X509Certificate, at: Date): void {
  const { usage, purposes, isPurposeCritical } = allowedBy(certificate);
  const isForStamps = purposes?.length === 1 && purposes[0] === id_kp_timeStamping && isPurposeCritical;
  demand(isForStamps, 'its signer has no certificate for time stamps alone (extendedKeyUsage critical, timeStamping)');
  demand(usage === undefined || (usage & signing) !== 0, 'its signer has a certificate that signs nothing');
  demandStrongKey(certificate.publicKey);
  demandValid(certificate, at);
}

/** @throws Refused unless certificates lead from a signer to an authority that is trusted, each of them valid at the time */
export function demandPath(
  signer: X509Certificate,
  given: readonly X509Certificate[],
  roots: readonly X509Certificate[],
  at: Date,
): void {
  let why = 'no authority that you trust vouches for its signer';
  // Attack: certificates that issue each other in all ways. Each is looked at once.
  const left = new Set([...roots, ...given]);
  const leads = (subject: X509Certificate, below: number): boolean => {
    const issuers = [...left].filter((one) => isIssuer(one, subject));
    issuers.forEach((issuer) => left.delete(issuer));
    return issuers.some((issuer) => {
      try {
        demandAuthority(issuer, at, below);
      } catch (error) {
        why = error instanceof Error ? error.message : why;
        return false;
      }
      return roots.includes(issuer) || leads(issuer, below + 1);
    });
  };
  demand(leads(signer, 0), why);
}

function isIssuer(issuer: X509Certificate, subject: X509Certificate): boolean {
  if (issuer.raw.equals(subject.raw) || !subject.checkIssued(issuer)) return false;
  return isStrongSignature(subject.signatureAlgorithmOid) && subject.verify(issuer.publicKey);
}

/** @param below how many authorities are between it and the signer */
function demandAuthority(certificate: X509Certificate, at: Date, below: number): void {
  const { isAuthority, pathLength, usage, purposes } = allowedBy(certificate);
  const mayIssue = usage === undefined || (usage & KeyUsageFlags.keyCertSign) !== 0;
  demand(isAuthority && mayIssue, `the certificate ${nameOf(certificate)} may issue no others`);
  demand(
    pathLength === undefined || below <= pathLength,
    `the certificate ${nameOf(certificate)} may issue none of authorities`,
  );
  const isFor =
    purposes === undefined || purposes.includes(id_kp_timeStamping) || purposes.includes(anyExtendedKeyUsage);
  demand(isFor, `the certificate ${nameOf(certificate)} issues none for time stamps`);
  demandStrongKey(certificate.publicKey);
  demandValid(certificate, at);
}

function demandValid(certificate: X509Certificate, at: Date): void {
  const { validFromDate, validToDate } = certificate;
  const isValid = validFromDate <= at && at <= validToDate;
  demand(isValid, `the certificate ${nameOf(certificate)} was not valid at the time of the stamp`);
}

/** @throws Refused for a critical extension that is not known here */
function allowedBy({ raw }: X509Certificate): Allowed {
  const { extensions = [] } = AsnConvert.parse(Uint8Array.from(raw), Certificate).tbsCertificate;
  const unknown = [...extensions].find(({ critical, extnID }) => critical && !understood.includes(extnID));
  demand(
    unknown === undefined,
    `a certificate in it has the critical extension ${unknown?.extnID ?? ''}, which is not known`,
  );
  const named = (id: string): Extension | undefined => [...extensions].find(({ extnID }) => extnID === id);
  const [basic, usage, purposes] = [id_ce_basicConstraints, id_ce_keyUsage, id_ce_extKeyUsage].map(named);
  const constraints = basic && AsnConvert.parse(basic.extnValue.buffer, BasicConstraints);
  return {
    isAuthority: constraints?.cA === true,
    pathLength: constraints?.pathLenConstraint,
    usage: usage && AsnConvert.parse(usage.extnValue.buffer, KeyUsage).toNumber(),
    purposes: purposes && [...AsnConvert.parse(purposes.extnValue.buffer, ExtendedKeyUsage)],
    isPurposeCritical: purposes?.critical === true,
  };
}

/** The name of a certificate's subject on one line. */
export function nameOf({ subject }: X509Certificate): string {
  return subject.replaceAll('\n', ', ');
}

/** Those of the certificates that can be read: others are no help. */
export function readCertificates(certificates: readonly Uint8Array[]): readonly X509Certificate[] {
  return certificates.slice(0, certificatesMax).flatMap((bytes) => {
    try {
      return [new X509Certificate(bytes)];
    } catch {
      return [];
    }
  });
}

const certificatesMax = 20;
