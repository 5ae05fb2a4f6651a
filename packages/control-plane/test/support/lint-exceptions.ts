/** Findings of the linters that stay, each with the reason. One that no longer stands for anything fails a test. */

export interface LintException {
  readonly rule: string;
  /** Where: a pattern over the place in the document, its parts joined by ` > `. Default: anywhere. */
  readonly at?: RegExp;
  /**
   * Only in what we answer, only in what is sent to us, or only at the addresses beside the operations. Default: in all.
   */
  readonly within?: 'answers' | 'requests' | 'beside';
  readonly reason: string;
}

const OPEN =
  'Health, sign-in, consent rounds and descriptions are for callers that have no token yet, or never need one.';
const UNCOUNTED =
  'Strangers are counted where they cause work, by network address: at sign-in, at the reference, and wherever a credential is refused. Health, fixed descriptions and the steps of a consent round, which take a ticket that works once, are not.';

/**
 * Rules that hold nowhere and are not run, since they take half of the linter's time. Each string would need a pattern:
 * names, notes, SQL and the values of other systems are text in any script, limited by its length. It reaches the database
 * as bound parameters and pages as escaped text, so that no character of it is dangerous.
 */
export const RULES_OFF: readonly string[] = ['owasp:api4:2023-string-restricted'];

export const LINT_EXCEPTIONS: readonly LintException[] = [
  { rule: 'info-contact', reason: 'Everybody runs their own: whom to ask is not ours to say.' },
  {
    rule: 'owasp:api2:2023-no-credentials-in-url',
    at: /^paths > \/(push|service|staff)-tokens\/\{token\}/,
    reason:
      'The parameter is the id of a token (tok_…), which opens nothing; the secret is never in an address.',
  },
  { rule: 'owasp:api2:2023-read-restricted', within: 'beside', reason: OPEN },
  {
    rule: 'owasp:api2:2023-write-restricted',
    within: 'beside',
    reason:
      'What lets them in is in the body (RFC 6749: public clients; a signed logout token) or is a session of the page’s own origin.',
  },
  {
    rule: 'owasp:api4:2023-array-limit',
    within: 'answers',
    reason:
      'Pages have a limit. Other lists in answers are as long as what was stored, whose parts were limited when they were sent; an answer above a limit that is set later would be a fault of ours.',
  },
  {
    rule: 'owasp:api4:2023-string-limit',
    within: 'answers',
    reason:
      'Stored values were limited when they were sent. A limit on answers would protect no caller, and break a client that checks it on the day that we raise one.',
  },
  {
    rule: 'owasp:api4:2023-string-limit',
    at: /^components > parameters > If(None)?Match > /,
    reason: 'A header has the limit of the HTTP server, and any number of tags is allowed (RFC 9110).',
  },
  {
    rule: 'owasp:api4:2023-string-limit',
    at: /^paths > \/connect\//,
    reason:
      'What a provider sends back is as long as the provider makes it, within the HTTP server’s limit on an address; everything but our own state and ticket is only handed on to the provider.',
  },
  { rule: 'owasp:api4:2023-rate-limit', within: 'beside', reason: UNCOUNTED },
  { rule: 'owasp:api4:2023-rate-limit-responses-429', within: 'beside', reason: UNCOUNTED },
  {
    rule: 'owasp:api8:2023-define-cors-origin',
    reason:
      'No page of another origin may call this, and for that the header is left out. Its value null, which the rule wants instead, is the origin of any sandboxed frame.',
  },
  { rule: 'owasp:api8:2023-define-error-responses-401', within: 'beside', reason: OPEN },
  {
    rule: 'owasp:api8:2023-define-error-validation',
    within: 'beside',
    reason: 'They take no input, or none that could be wrong, or answer a wrong one with something else.',
  },
  {
    rule: 'operation-2xx-response',
    within: 'beside',
    reason: 'Addresses that only ever send a browser on, or refuse.',
  },
  {
    rule: 'operation-4xx-response',
    within: 'beside',
    reason: 'Open to anybody and without input: there is nothing for which they would refuse.',
  },
];
