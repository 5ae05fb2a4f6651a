/** Fills the frame that the server sent. */
import { StrictMode } from 'react';
import { createRoot } from 'react-dom/client';
import { Root } from './app.tsx';
import type { Surroundings } from './lib/app-context.tsx';

const element = document.getElementById('app');
if (element)
  createRoot(element).render(
    <StrictMode>
      <Root around={JSON.parse(element.dataset.around ?? '{}') as Surroundings} />
    </StrictMode>,
  );
