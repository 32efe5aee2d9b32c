/* A stand-in for the library of a device: bytes that begin with a D are readable memory of device 3. */
int canele_device_of(const void *address)
{
    return *(const char *)address == 'D' ? 3 : -1;
}
