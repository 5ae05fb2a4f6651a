/** A refusal in the form of its caller: a problem document for software, a page for a browser that navigates. */
import { type PlatformError, PROBLEMS, problemDocument } from '../problems.ts';

/** Whether a request wants a page: a browser that navigates accepts HTML. */
export function wantsPage(headers: Headers): boolean {
  return headers.get('accept')?.toLowerCase().includes('text/html') ?? false;
}

/**
 * Returns an error in the form of its caller. The page holds only our own text, and no part of the request.
 * @param requestId of the problem document. Default: a new one.
 */
export function refusal(
  headers: Headers,
  error: PlatformError,
  requestId: string = crypto.randomUUID(),
): Response {
  if (!wantsPage(headers)) return problemDocument(error, requestId);
  return new Response(
    `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<title>${escapeHtml(PROBLEMS[error.code].title)}</title>
<main>
<h1>${escapeHtml(PROBLEMS[error.code].title)}</h1>
<p>${escapeHtml(error.message)}</p>
</main>
</html>
`,
    {
      status: error.status,
      headers: {
        ...error.headers,
        'content-type': 'text/html; charset=utf-8',
        'cache-control': 'no-store',
        'content-security-policy': "default-src 'none'; frame-ancestors 'none'",
        'x-content-type-options': 'nosniff',
      },
    },
  );
}

function escapeHtml(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');
}
