/** The first page: the beginning of each list that the reader may open, and the operations about no record. */

import { Title } from '../components/basics.tsx';
import { OperationButton } from '../components/operation-button.tsx';
import { ShortList } from '../components/short-list.tsx';
import { generalOperations, operationOf, useApp } from '../lib/app-context.tsx';
import { t } from '../lib/language.ts';

export function HomePage() {
  const { declaration, around } = useApp();
  const kinds = declaration.kinds.filter(({ type }) => operationOf(declaration, `${type}/list`));
  const general = generalOperations(declaration, null);
  return (
    <>
      <header className="page-head">
        <Title>{t.welcome(around.business)}</Title>
        <div className="row">
          {general.map((operation) => (
            <OperationButton key={operation.name} operation={operation} onDone={() => undefined} />
          ))}
        </div>
      </header>
      {kinds.length === 0 && general.length === 0 && <p>{t.nothingForYou}</p>}
      <div className="lists">
        {kinds.map((kind) => (
          <ShortList key={kind.type} kind={kind} />
        ))}
      </div>
    </>
  );
}
