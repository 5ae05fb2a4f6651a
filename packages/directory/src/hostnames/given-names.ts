/**
 * Names that the platform gives out: below `localhost` and below a base domain. Nothing proves them, so the first label
 * below the domain decides: it belongs to one tenant, with every name below it.
 *
 * A label is compared by its skeleton (UTS 39), so that no label looks like another tenant's or like a reserved word. Only
 * ASCII labels are given out there: of these, `0`, `1` and `m` are confusable, with `o`, `l` and `rn`.
 */
import type { SqlDatabase } from '@freehold/store';
import { wasHeldBy } from './hostname-history.ts';
import { loadActiveHostnames, loadHostname } from './store.ts';

/** Labels that people and programs take for the operator's own (RFC 2142, RFC 6762, RFC 7711, and common use). */
const RESERVED = new Set(
  [
    ...['abuse', 'account', 'accounts', 'admin', 'administrator', 'api', 'assets', 'auth', 'autoconfig'],
    ...[
      'autodiscover',
      'billing',
      'broadcasthost',
      'cdn',
      'console',
      'control',
      'control-plane',
      'dashboard',
    ],
    ...[
      'dns',
      'docs',
      'freehold',
      'ftp',
      'git',
      'help',
      'hostmaster',
      'id',
      'identity',
      'idp',
      'imap',
      'info',
    ],
    ...[
      'internal',
      'isatap',
      'issuer',
      'local',
      'localdomain',
      'localhost',
      'login',
      'logout',
      'mail',
      'mta-sts',
    ],
    ...[
      'mx',
      'noc',
      'ns',
      'ns1',
      'ns2',
      'ns3',
      'ns4',
      'oauth',
      'oidc',
      'operator',
      'pay',
      'payment',
      'payments',
    ],
    ...[
      'platform',
      'pop',
      'pop3',
      'postmaster',
      'private',
      'proxy',
      'register',
      'root',
      'secure',
      'security',
    ],
    ...[
      'server',
      'signin',
      'signup',
      'smtp',
      'ssh',
      'sso',
      'ssl',
      'staff',
      'static',
      'status',
      'support',
      'system',
    ],
    ...['tls', 'vpn', 'webmail', 'webmaster', 'wpad', 'www'],
  ].map(skeletonOf),
);

/** The most host names that the builders of a tenant bind. Staff may bind more. */
export const BUILDER_NAMES_MAX = 100;

/** The skeleton of an ASCII name in lower case (UTS 39, section 4; confusables.txt). */
export function skeletonOf(name: string): string {
  return name.toLowerCase().replaceAll('0', 'o').replaceAll('1', 'l').replaceAll('m', 'rn');
}

/** The skeletons of the labels from the last to the first, each followed by a dot: `a.example` is `exarnple.a.`. */
export function areaOf(name: string): string {
  return `${skeletonOf(name).split('.').reverse().join('.')}.`;
}

/** A name below `localhost` or a base domain. */
export interface GivenName {
  readonly hostname: string;
  /** The domain, and the label directly below it. */
  readonly labelled: string;
  readonly label: string;
}

/** Null for every other name, the domains themselves among them. */
export function givenName(hostname: string, baseDomains: readonly string[]): GivenName | null {
  const domains = ['localhost', ...baseDomains.map((domain) => domain.toLowerCase())];
  const [domain] = domains
    .filter((each) => hostname.endsWith(`.${each}`))
    .sort((one, other) => other.length - one.length);
  if (domain === undefined) return null;
  const label = hostname
    .slice(0, -domain.length - 1)
    .split('.')
    .at(-1) as string;
  return { hostname, label, labelled: `${label}.${domain}` };
}

/**
 * Whether a name that is given out may be bound by this tenant, by its builders or by staff. No two tenants have names below
 * one label. Staff may give a reserved or look-alike label to the tenant that is called so, or that had it before.
 */
export function mayBind(
  db: SqlDatabase,
  given: GivenName,
  { tenant, isBuilder }: { readonly tenant: string; readonly isBuilder: boolean },
): boolean {
  const { label, labelled } = given;
  if (label.startsWith('xn--') || db.get(BELOW, areaOf(labelled), tenant) !== undefined) return false;
  const namesake = db.get<{ id: string }>(NAMESAKE, skeletonOf(label))?.id;
  const isBarred = RESERVED.has(skeletonOf(label)) || (namesake !== undefined && namesake !== tenant);
  if (isBuilder) return !isBarred && (namesake === tenant || loadHostname(db, labelled)?.tenant === tenant);
  return !isBarred || isKnownAs(db, given, tenant);
}

/** Whether a label is the slug of a tenant; and, where no tenant has this slug, whether the tenant held the name before. */
function isKnownAs(db: SqlDatabase, { hostname, label, labelled }: GivenName, tenant: string): boolean {
  const called = db.get<{ id: string }>(CALLED, label)?.id;
  if (called !== undefined) return called === tenant;
  return [labelled, hostname].some((name) => wasHeldBy(db, { hostname: name, tenant }));
}

export const CALLED = 'SELECT id FROM tenants WHERE slug = ?';

/** The oldest tenant whose slug looks like a label. A slug is never used again. */
export const NAMESAKE = `SELECT id FROM tenants WHERE replace(replace(replace(slug, '0', 'o'), '1', 'l'), 'm', 'rn') = ?
  ORDER BY created_at, id LIMIT 1`;

/** Another tenant's name in an area: the name itself, one that looks like it, or one below either. */
export const BELOW = `SELECT 1 FROM hostnames WHERE area >= ?1 AND area < substr(?1, 1, length(?1) - 1) || '/'
  AND status IN ('active', 'disabled') AND tenant <> ?2 LIMIT 1`;

/** Another scope's name in an area. */
export const NEIGHBOUR = `SELECT 1 FROM hostnames WHERE area >= ?1 AND area < substr(?1, 1, length(?1) - 1) || '/'
  AND status IN ('active', 'disabled') AND scope <> ?2 LIMIT 1`;

/**
 * The active host names that may share the session of a name: those of its scope. Where another scope has a name below the
 * domain that they have in common, a cookie for that domain would reach it: then the name has a session of its own.
 */
export function sessionHostnames(
  db: SqlDatabase,
  { hostname, scope }: { readonly hostname: string; readonly scope: string },
): readonly string[] {
  const hostnames = loadActiveHostnames(db, scope);
  const common = commonDomain(hostnames);
  const isShared = common !== '' && db.get(NEIGHBOUR, areaOf(common), scope) === undefined;
  return isShared ? hostnames : [hostname];
}

function commonDomain(hostnames: readonly string[]): string {
  const [first = [], ...others] = hostnames.map((each) => each.split('.').reverse());
  const differs = first.findIndex((label, index) => others.some((labels) => labels[index] !== label));
  return first
    .slice(0, differs < 0 ? first.length : differs)
    .reverse()
    .join('.');
}

/** Says of each claim without an area which one is its: those of an older directory, or of a restored backup. */
export function completeAreas(db: SqlDatabase): void {
  const claims = db.all<{ claim: string; hostname: string }>(
    'SELECT claim, hostname FROM hostnames WHERE area IS NULL',
  );
  for (const { claim, hostname } of claims)
    db.run('UPDATE hostnames SET area = ? WHERE claim = ?', areaOf(hostname), claim);
}
