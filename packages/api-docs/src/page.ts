/** An OpenAPI document as one page: a list of its operations, each operation, and each named schema. */
import {
  type Answer,
  type Content,
  type Described,
  nameOf,
  type Operation,
  type Parameter,
  resolved,
} from './document.ts';
import { Html, html, line, prose } from './html.ts';
import { fieldItem, fieldsOf, typeOf } from './schema.ts';
import { SCRIPT } from './script.ts';
import { STYLE } from './style.ts';

/** An operation with its address. */
interface Listed {
  readonly method: string;
  readonly path: string;
  readonly operation: Operation;
}

interface Group {
  readonly name: string;
  readonly description: string | undefined;
  readonly operations: readonly Listed[];
}

/**
 * Returns the page's HTML. It works without its script, which filters the list of operations.
 * @param documentUrl where the document itself is, on the same origin.
 */
export function renderPage(document: Described, documentUrl: string): string {
  const { title, version, description } = document.info;
  const groups = groupsOf(document);
  return html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta name="description" content="The operations of the API of ${title}, with their fields, answers and failures.">
<title>${title}: API</title>
<link rel="icon" href="data:,">
<style>${new Html(STYLE)}</style>
</head>
<body>
<a class="skip" href="#operations">To the operations</a>
<header>
<h1>${title}</h1>
<p class="version">API version ${version} · <a href="${documentUrl}">OpenAPI document</a></p>
${prose(description)}
</header>
<nav aria-label="Operations">
<p class="search" hidden><label>Find an operation <input type="search" autocomplete="off" spellcheck="false"></label></p>
<p role="status" class="found"></p>
${groups.map(groupLinks)}
${schemaLinks(document)}
</nav>
<main id="operations" tabindex="-1">
${groups.map((group) => groupSection(group, document))}
${failuresSection(document)}
${schemasSection(document)}
</main>
<script>${new Html(SCRIPT)}</script>
</body>
</html>
`.text;
}

function groupsOf({ paths, tags = [] }: Described): Group[] {
  const listed = Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({ method: method.toUpperCase(), path, operation })),
  );
  const byTag = Map.groupBy(listed, ({ operation }) => operation.tags?.[0] ?? 'Other');
  const known = tags.map(({ name }) => name);
  return [...known, ...[...byTag.keys()].filter((name) => !known.includes(name))].flatMap((name) => {
    const operations = byTag.get(name);
    const { description } = tags.find((tag) => tag.name === name) ?? {};
    return operations ? [{ name, description, operations }] : [];
  });
}

function groupLinks({ name, operations }: Group): Html {
  const links = operations.map(
    ({ method, path, operation }) =>
      html`<li><a href="#${operation.operationId}" data-find="${`${method} ${path} ${operation.operationId}`.toLowerCase()}">${operation.summary ?? path}</a></li>`,
  );
  return html`<details><summary>${name}</summary><ul>${links}</ul></details>
`;
}

function schemaLinks({ components }: Described): Html | null {
  const names = Object.keys(components?.schemas ?? {});
  if (names.length === 0) return null;
  const links = names.map((name) => html`<li><a href="#schema-${name}" data-find="schema">${name}</a></li>`);
  return html`<details><summary>Schemas</summary><ul>${links}</ul></details>`;
}

function groupSection({ name, description, operations }: Group, document: Described): Html {
  return html`<section aria-labelledby="group-${slug(name)}">
<h2 id="group-${slug(name)}">${name}</h2>
${prose(description)}
${operations.map((listed) => operationArticle(listed, document))}
</section>
`;
}

function operationArticle({ method, path, operation }: Listed, document: Described): Html {
  const { operationId, summary, description, requestBody } = operation;
  // A description that begins with the summary says it twice to a reader of the page.
  const more = description?.startsWith(`${summary}.`) ? description.slice(`${summary}.`.length) : description;
  return html`<article id="${operationId}">
<h3><a href="#${operationId}">${summary ?? operationId}</a></h3>
<p class="address"><b class="${method.toLowerCase()}">${method}</b> <code>${path}</code></p>
${prose(more?.trim())}
${credentials(operation, document)}
${parameterList(operation, document)}
${requestBody ? html`<h4>Body${requestBody.required ? null : ' (may be left out)'}</h4>${contentOf(requestBody.content)}` : null}
${answersOf(operation, document)}
</article>
`;
}

/** Said only where it is not what holds for the whole document. */
function credentials({ security }: Operation, document: Described): Html | null {
  if (security === undefined || JSON.stringify(security) === JSON.stringify(document.security)) return null;
  if (security.length === 0) return html`<p>Needs no credential.</p>`;
  const ways = security.map((way) => Object.keys(way).join(' with ') || 'none');
  return html`<p>Credential: ${ways.join(', or ')}.</p>`;
}

/** Where parameters are, in words. */
const PLACES: Readonly<Record<string, string>> = { path: 'Path', query: 'Query', header: 'Headers' };

function parameterList({ parameters = [] }: Operation, { components }: Described): Html {
  const all = parameters.map((each): Parameter => resolved(each, components?.parameters));
  return html`${[...Map.groupBy(all, (each) => each.in)].map(([place, fields]) => {
    const items = fields.map(({ name, schema = {}, required = false, description }) =>
      fieldItem({ name, schema, required, description }),
    );
    return html`<h4>${PLACES[place] ?? place}</h4><ul class="fields">${items}</ul>`;
  })}`;
}

function answersOf({ responses }: Operation, { components }: Described): Html {
  const all = Object.entries(responses);
  const successes = all.filter(([, answer]) => !isShared(answer));
  const failures = all.filter(([, answer]) => isShared(answer));
  return html`<h4>Answers</h4><ul class="answers">${successes.map(([status, part]) => {
    const { description, headers = {}, content } = resolved(part, components?.responses);
    const names = Object.keys(headers).filter((name) => name !== 'X-Request-Id');
    return html`<li><b>${status}</b> ${line(description ?? '')}${names.length === 0 ? null : html` <span class="limits">Headers: ${names.join(', ')}</span>`}${content ? contentOf(content) : null}</li>`;
  })}</ul>${failures.length === 0 ? null : html`<p>Failures: ${failures.map(([status, { $ref = '' }], index) => html`${index === 0 ? '' : ', '}<a href="#failure-${nameOf($ref)}">${status}</a>`)}</p>`}`;
}

/** Failures are described once, for every operation that has them. */
function isShared({ $ref }: Answer): boolean {
  return $ref !== undefined;
}

function contentOf(content: Content): Html {
  return html`${Object.entries(content).map(([type, { schema }]) => {
    const isJson = type === 'application/json';
    if (!schema) return html`<p><code>${type}</code></p>`;
    return html`<p>${isJson ? null : html`<code>${type}</code> `}<span class="type">${typeOf(schema)}</span></p>${fieldsOf(schema)}`;
  })}`;
}

function failuresSection({ components }: Described): Html | null {
  const failures = Object.entries(components?.responses ?? {});
  if (failures.length === 0) return null;
  const items = failures.map(
    ([name, { description = '' }]) =>
      html`<li id="failure-${name}"><b>${/\d+$/.exec(name)?.[0] ?? name}</b> ${line(description)}</li>`,
  );
  return html`<section aria-labelledby="failures"><h2 id="failures">Failures</h2><ul class="answers">${items}</ul></section>
`;
}

function schemasSection({ components }: Described): Html | null {
  const schemas = Object.entries(components?.schemas ?? {});
  if (schemas.length === 0) return null;
  const articles = schemas.map(
    ([name, schema]) => html`<article id="schema-${name}">
<h3><a href="#schema-${name}">${name}</a></h3>
${prose(schema.description)}
${fieldsOf(schema) ?? html`<p class="type">${typeOf(schema)}</p>`}
</article>
`,
  );
  return html`<section aria-labelledby="schemas"><h2 id="schemas">Schemas</h2>${articles}</section>`;
}

function slug(name: string): string {
  return name.toLowerCase().replaceAll(/[^a-z0-9]+/g, '-');
}
