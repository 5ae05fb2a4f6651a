/**
 * The two resources that show an OpenAPI document to a person: a page, and the renderer's script (Scalar), which comes
 * from the same origin. Nothing is fetched from elsewhere, and no request that is tried out goes through anybody's proxy.
 */

/** The renderer as one classic script. */
export interface ScriptFile {
  readonly bytes: Uint8Array<ArrayBuffer>;
  /** The same bytes by gzip; null when there is no such form. */
  readonly gzipped: Uint8Array<ArrayBuffer> | null;
  /** An entity tag, in quotes. */
  readonly etag: string;
}

export interface DocsPage {
  readonly title: string;
  /** Where the OpenAPI document is, as the page's reader reaches it: an address on the same origin. */
  readonly documentUrl: string;
  /** Where {@link ApiDocs.script} is served. */
  readonly scriptUrl: string;
}

export interface ApiDocs {
  page(page: DocsPage): Response;
  /** Answers 304 to who has it. The caller has settled that it is a GET, and who may have it. */
  script(request: Request): Promise<Response>;
}

/**
 * The page's content security policy. The renderer puts its style into the page, and nothing else of it is inline; what it would ask
 * of other origins (fonts, a registry, a proxy, statistics) is turned off below, and would be refused here.
 */
const POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self' 'unsafe-inline'",
  "img-src 'self' data: blob:",
  "font-src 'self' data:",
  "connect-src 'self'",
  "worker-src 'self' blob:",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join('; ');

const RENDERER = {
  telemetry: false,
  withDefaultFonts: false,
  hideClientButton: true,
  showDeveloperTools: 'never',
  persistAuth: false,
  agent: { disabled: true },
  mcp: { disabled: true },
};

const HEADERS = {
  'x-content-type-options': 'nosniff',
  'referrer-policy': 'no-referrer',
  'cross-origin-resource-policy': 'same-origin',
};

/** @param load the script; asked once, and again when it failed. On Node, take `apiDocs` of `@freehold/api-docs/node`. */
export function makeApiDocs(load: () => Promise<ScriptFile>): ApiDocs {
  let loading: Promise<ScriptFile> | undefined;
  const loaded = (): Promise<ScriptFile> => {
    loading ??= load().catch((error: unknown) => {
      loading = undefined;
      throw error;
    });
    return loading;
  };
  return {
    page: (page) =>
      new Response(html(page), {
        headers: {
          ...HEADERS,
          'content-type': 'text/html; charset=utf-8',
          'content-security-policy': POLICY,
          'cache-control': 'private, no-store',
        },
      }),
    script: async ({ headers }) => {
      const { bytes, gzipped, etag } = await loaded();
      const common = {
        ...HEADERS,
        etag,
        vary: 'accept-encoding, cookie',
        'cache-control': 'private, max-age=0, must-revalidate',
      };
      if (headers.get('if-none-match')?.includes(etag))
        return new Response(null, { status: 304, headers: common });
      const isPacked = gzipped !== null && takesGzip(headers.get('accept-encoding'));
      return new Response(isPacked ? gzipped : bytes, {
        headers: {
          ...common,
          'content-type': 'text/javascript; charset=utf-8',
          ...(isPacked ? { 'content-encoding': 'gzip' } : {}),
        },
      });
    },
  };
}

/** RFC 9110, section 12.5.3, as far as one coding goes: named, and not with a weight of nothing. */
function takesGzip(header: string | null): boolean {
  return (header ?? '')
    .split(',')
    .some((each) => /^\s*(?:gzip|\*)\s*(?:;\s*q=(?!0(?:\.0*)?\s*$)[\d.]+\s*)?$/i.test(each));
}

function html({ title, documentUrl, scriptUrl }: DocsPage): string {
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${escaped(title)}</title>
<link rel="icon" href="data:,">
</head>
<body>
<noscript>This page needs JavaScript. What it shows is also <a href="${escaped(documentUrl)}">the OpenAPI document</a>.</noscript>
<script id="api-reference" type="application/json" data-url="${escaped(documentUrl)}" data-configuration="${escaped(JSON.stringify(RENDERER))}"></script>
<script src="${escaped(scriptUrl)}"></script>
</body>
</html>
`;
}

function escaped(text: string): string {
  return text.replaceAll(/[&<>"]/g, (each) => `&#${each.charCodeAt(0)};`);
}
