import { provideBrowserGlobalErrorListeners, provideZonelessChangeDetection } from '@angular/core';
import { bootstrapApplication } from '@angular/platform-browser';

import { App } from './app/shell/app';

bootstrapApplication(App, {
  providers: [provideZonelessChangeDetection(), provideBrowserGlobalErrorListeners()],
}).catch((error: unknown) => console.error(error));
