/** Section 7 of the spec inside workerd: the application and its scopes in one worker, with a durable object each. */

import { makeScopeHost } from '../../kernel/src/index.ts';
import { libraryUnit } from '../../testkit/src/scope-contract/index.ts';
import { describeSectionSeven } from '../../vertical-host/test/section-seven.ts';
import { openScopeEngine, scopeNow } from './worker.ts';

describeSectionSeven({
  name: 'engine-workerd',
  open: async (build) => {
    const host = makeScopeHost({ engine: openScopeEngine(), unit: libraryUnit, now: scopeNow });
    const app = build(host);
    return { host, ask: async (path, init) => app.fetch(new Request(`https://library.test${path}`, init)) };
  },
});
