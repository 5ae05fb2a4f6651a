/** The pages behind `type` of a problem document: `/problems/<code>` explains the code (RFC 9457, section 3.1.1). */
import { PROBLEMS, type ProblemCode } from '../problems.ts';

/** Advice for a program that gets the code. */
const ADVICE: Readonly<Record<ProblemCode, string>> = {
  validation_failed: 'Correct the request: errors names each field and what is wrong with it.',
  unauthenticated: 'Sign in, or send a valid token, and repeat the request.',
  permission_denied: 'Ask a member who manages the roles to give you the permission that detail names.',
  forbidden: 'Repeating the request does not help; reason says why it is refused.',
  not_found: 'Check the address. What exists but is not yours reads as not there.',
  method_not_allowed: 'Use one of the methods in the Allow header.',
  conflict:
    'Read the present state and decide again. A reused idempotency key needs the request it was first sent with.',
  invalid_transition: 'Read the present state: the step may have been taken already.',
  immutable: 'Make a new one instead of changing this one.',
  precondition_failed: 'Read the present version, apply your change to it and send its ETag in If-Match.',
  payload_too_large: 'Send less at a time.',
  unsupported_media_type: 'Send the type that the Accept header names.',
  rate_limited: 'Wait for as long as the Retry-After header says.',
  internal: 'It has been recorded. Quote requestId when you report it; repeating later may help.',
  unsupported: 'This installation does not offer it; detail says what is missing.',
  runtime_fault: 'The application failed, not your request. Quote requestId when you report it.',
  unavailable: 'Repeat the request later, with the same idempotency key.',
};

/**
 * Returns the page at a path: `/problems` lists all codes, and `/problems/<code>` explains one. They are public and hold
 * no tenant's data. Null for every other path.
 */
export function problemPage(path: string): Response | null {
  const found = /^\/problems(?:\/([a-z_]+))?$/.exec(path);
  if (found === null) return null;
  const [, code] = found;
  if (code === undefined) return page('Problems', Object.keys(PROBLEMS).map(listItem).join('\n'));
  if (!isProblemCode(code)) return null;
  const { status, title } = PROBLEMS[code];
  return page(
    `${title} (${code})`,
    `<p>Status ${status}, code <code>${code}</code>.</p>
<p>${ADVICE[code]}</p>`,
  );
}

function isProblemCode(code: string): code is ProblemCode {
  return Object.hasOwn(PROBLEMS, code);
}

function listItem(code: string): string {
  return `<p><a href="/problems/${code}"><code>${code}</code></a></p>`;
}

/** Only our own constants are inserted, so that nothing needs escaping; the policy is a second guard. */
function page(title: string, body: string): Response {
  const html = `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<title>${title}</title>
<h1>${title}</h1>
${body}
</html>
`;
  return new Response(html, {
    headers: {
      'content-type': 'text/html; charset=utf-8',
      'cache-control': 'public, max-age=3600',
      'content-security-policy': "default-src 'none'; base-uri 'none'; frame-ancestors 'none'",
      'x-content-type-options': 'nosniff',
    },
  });
}
