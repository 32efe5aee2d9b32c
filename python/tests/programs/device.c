/* Stands for the library of a device: what begins with a D is memory of device 3. It can be read all the same. */
int canele_device_of(const void *address)
{
    return *(const char *)address == 'D' ? 3 : -1;
}
